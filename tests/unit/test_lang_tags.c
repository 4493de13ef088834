/* Every tag of graph_tags.def: what it leaves in the model, its default, and the line of the seed it comes from.
 *
 * A row of the table below is a text, added to a graph that needs nothing else, and what must then be among the
 * words of the model, or among what the parser says. A tag without a row fails the last test. */
#include "tests/unit/lang_rig.h"

static say_t got;

#define GRAPH "format 0\n format_frame_length 8\nstream_io 0\nstream_io 1\n stream_io_hwid 9\n"
#define AMP "node amp 0\n"
#define END "_end_\n"
#define RET " script_code\n 1 h16; C000\n _end_\n"
#define ARC "arc_input 0 amp 0 0 0\n"
#define OUT "arc_output 1 amp 0 1 0\n"
#define SUBGRAPH "#sub\n" /* the text is that of a sub-graph with 2 interfaces and VID 1 = bank 3 */

static const struct {
    const char *seed, *tag, *text, *want;
} cases[] = {
    /* ---- the graph itself */
    {"own", "graph_name", "graph_name hall\n", "graph: name=hall "},
    {"S0:L208", "graph_location", "graph_location 2\n", " location=2 "},
    {"S0:L208 default", "graph_location", "", " location=0 "},
    {"S0:L208 range", "graph_location", "graph_location 4\n", "g.txt:1:16 error: graph_location is 4, allowed 0..3\n"},
    {"later, reference 2.2", "graph_locations", "graph_locations -1 -1 -1 -1 -1 -1 -1\n", " location=3 "},
    {"later, reference 2.2", "graph_locations", "graph_locations -1 0 -1 -1 -1 -1 -1\n",
     "warning: graph_locations other than -1: graph_location 0 is used\n"},
    {"S0:L212", "debug_script_fields", "debug_script_fields 17\n", " debug=17 "},
    {"S0:L212 default", "debug_script_fields", "", " debug=0 "},
    {"S0:L219", "scheduler_return", "scheduler_return 1\n", " return=1 "},
    {"S0:L219 default", "scheduler_return", "", " return=3 "},
    {"S0:L222", "allowed_processors", "allowed_processors 5\n", " processors=0x5 "},
    {"S0:L222 default", "allowed_processors", "", " processors=0x1 "},
    {"S0:L223", "graph_map_hwblock", "graph_map_hwblock 3\n", " map=3 "},
    {"S0:L223 default", "graph_map_hwblock", "", " map=0 "},
    {"S0:L212 which script", "debug_script",
     "debug_script 1\nscript 0\n script_name a\n script_code\n 2 h16; 0441 C000\n _end_\n_end_\n"
     "script 1\n script_name b\n" RET "_end_\n",
     "script 0: id=1 node=-1 scope= name=b "},
    {"S0:L212 which script, calls follow", "debug_script",
     "debug_script 1\nscript 0\n script_name a\n script_code\n 2 h16; 0441 C000\n _end_\n_end_\n"
     "script 1\n script_name b\n" RET "_end_\n",
     " code=400400c0"},
    {"S0:L225", "set_file_path", "set_file_path 2 deep/\ninclude 2 part.txt\n", "node 0: amp 7 "},
    {"later", "graph_file_path", "graph_file_path 2 deep/\ninclude 2 part.txt\n", "node 0: amp 7 "},
    {"S0:L225 default", "set_file_path", "include 0 here.txt\n", "node 0: amp 8 "},
    {"S0:L315", "include", AMP "node_parameters\n 1 u8; 0\n include 0 data.txt\n" END END, " tag=256 params=0102\n"},
    {"2024", "_include", AMP "node_parameters\n 1 u8; 0\n _include 0 data.txt\n" END END, " tag=256 params=0102\n"},
    {"reference 2.9 without a word", "graph_dialect",
     "graph_locations -1 -1 -1 -1 -1 -1 -1\nformat 1\n format_raw_data 3\n",
     "g.txt:3:18 warning: raw type 3 is taken as S2, but texts with graph_locations number otherwise: write the name, "
     "or "
     "graph_dialect 2024 or 2025\n"},
    {"reference 2.9 each of them", "graph_dialect",
     "graph_locations -1 -1 -1 -1 -1 -1 -1\nformat\n 1 8 12 1 0 0 0 0 0\n_end_\n",
     "g.txt:3:6 warning: raw type 12 is taken"},
    {"reference 2.9 2025", "graph_dialect",
     "graph_locations -1 -1 -1 -1 -1 -1 -1\ngraph_dialect 2025\nformat 1\n format_raw_data 3\n", "raw=S16 "},
    {"reference 2.9 2025", "graph_dialect", "graph_dialect 2025\nformat 1\n format_raw_data 1\n", "raw=FP32 "},
    {"reference 2.9 2025", "graph_dialect", "graph_dialect 2025\nformat 1\n format_raw_data 2\n", "raw=FP64 "},
    {"reference 2.9 2025", "graph_dialect", "graph_dialect 2025\nformat 1\n format_raw_data 4\n", "raw=S32 "},
    {"reference 2.9 2025", "graph_dialect", "graph_dialect 2025\nformat 1\n format_raw_data 12\n", "raw=U8 "},
    {"reference 2.9 2025", "graph_dialect", "graph_dialect 2025\nformat 1\n format_raw_data Q15\n", "raw=Q15 "},
    {"reference 2.9 2025", "graph_dialect", "graph_dialect 2025\nformat 1\n format_raw_data 17\n",
     "g.txt:3:18 error: raw type 17: of the later texts' codes 1, 2, 3, 4 and 12 are certain: write the name\n"},
    {"reference 2.9 2024", "graph_dialect",
     "graph_locations -1 -1 -1 -1 -1 -1 -1\ngraph_dialect 2024\nformat 1\n format_raw_data 27\n", "raw=FP32 "},
    {"reference 2.9 too late", "graph_dialect", "format 1\ngraph_dialect 2025\n",
     "error: graph_dialect stands before the first format\ng.txt:1:8 note: this one was read already\n"},
    {"S0:L276", "memory_mapping", "memory_mapping 3 9 1024 256\n", "map 0: 3>9 1024+256\n"},
    {"S0:L276 aligned", "memory_mapping", "memory_mapping 3 9 1022 256\n",
     "error: start and length are multiples of 4\n"},
    {"S0:L610", "top_memory_mapping", "top_memory_mapping\n 3 9 0 64 first\n 3 10 64 64\n_end_\n",
     "map 1: 3>10 64+64\n"},
    {"2024", "graph", "graph\n", "graph: "},
    {"2024", "top_header", "top_header\n", "graph: "},
    {"S0:L439", "arc_section", AMP END "arc_section\n" ARC, "arc 0: io0 f0 > node0.0 f0 "},
    {"S0:L297", "subgraph", "subgraph s 0 sub.txt\n 0 1\n_end_\n", "node 0: amp 0 scope=s "},
    /* ---- debug trace, S0:L286 an empty table */
    {"S0:L286", "graph_trace_io", "graph_trace_io 1\n" AMP END, " verbose=0 trace=1 "},
    {"S0:L286 default", "graph_trace_io", AMP END, " verbose=0 trace=0 "},
    {"S0:L286 a node's own word", "graph_trace_io", "graph_trace_io 1\n" AMP "node_trace_id 0\n" END, " trace=0 "},
    {"S0:L286", "graph_trace_level", "graph_trace_level 2\n" AMP END, " verbose=2 trace=0 "},
    {"S0:L286 a node's own word", "graph_trace_level", "graph_trace_level 2\n" AMP "node_map_verbose 1\n" END,
     " verbose=1 "},
    {"S0:L286", "graph_trace_node", "graph_trace_node amp 1\n" AMP END "node amp 1\n" END,
     "node 1: amp 1 scope= name= preset=0 proc=0 arch=0 rtos=0 verbose=1 "},
    {"S0:L286 the others are not", "graph_trace_node", "graph_trace_node amp 1\n" AMP END "node amp 1\n" END,
     "node 0: amp 0 scope= name= preset=0 proc=0 arch=0 rtos=0 verbose=0 "},
    {"S0:L286 path", "graph_trace_node",
     "graph_trace_node s/amp 0\ngraph_trace_level 3\nsubgraph s 0 sub.txt\n 0 1\n_end_\n",
     "scope=s name= preset=0 proc=0 arch=0 rtos=0 verbose=3 "},
    {"S0:L286 none", "graph_trace_node", "graph_trace_node t/amp 0\n" AMP END,
     "g.txt:1:18 error: there is no node t/amp 0 to trace\n"},
    {"2024 block", "top_trace_node", "top_trace_node\n ./amp #0\n_end_\n" AMP END, " verbose=1 "},
    /* ---- places, as decompiled texts have them */
    {"own", "memory_plan", "memory_plan 3 64 128\n", "plan 0: 3 64 128\n"},
    {"own", "memory_fill", "memory_fill 0xDEADBEEF\n", " fill=0xdeadbeef "},
    {"own", "graph_sequence", "graph_sequence 7\n", " sequence=7\n"},
    {"own", "graph_subgraphs", "graph_subgraphs 2\n", " subgraphs=2 "},
    {"own", "stream_io_name", "format 0\nstream_io 5\n stream_io_name mic\n", " name=mic\n"},
    {"own", "stream_io_map_at", "format 0\nstream_io 5\n stream_io_map_at 3 64\n", " at=3+64 "},
    {"own", "node_map_at", AMP "node_map_at 1 3 64\n" END, " block1=E0@3+64\n"},
    {"own", "arc_map_at", AMP END ARC "arc_map_at 3 64 16\n",
     " vid=3! jitter=1 delay=0 script=-1 crumbs=0:0/0 at=64\n"},
    {"own", "arc_name", AMP END ARC "arc_name mic\n", "arc 0: mic: "},
    {"own", "script_pool", "script 0\n script_pool\n 4 h8; 01 02 03 04\n _end_\n" RET END, " literals=01020304\n"},
    /* ---- formats */
    {"S0:L230", "format", "format 3\n",
     "format 0: id=3 frame=1 raw=S16 interleave=0 channels=1 ts=0/0 unit=0 domain=0 rate=0 "
     "mapping=0 2d=0x0+0\n"},
    {"2024 rows", "format", "format\n ; ID FRAME RAW NB\n 3 8 17 2 1 0 0 1 0 16000.0 3 ; of a channel\n_end_\n",
     "format 0: id=3 frame=16 raw=S16 interleave=1 channels=2 ts=0/0 unit=0 domain=1 rate=16000 mapping=0x3 "},
    {"S0:L231", "format_raw_data", "format 3\n format_raw_data 27\n", "raw=FP32 "},
    {"S0:L231 name", "format_raw_data", "format 3\n format_raw_data U8\n", "raw=U8 "},
    {"S0:L232", "format_frame_length", "format 3\n format_frame_length 96\n", "frame=96 "},
    {"S0:L233", "format_interleaving", "format 3\n format_interleaving 1\n", "interleave=1 "},
    {"S1:L911 pointers where the IO sets the buffer", "format_interleaving",
     "format 3\n format_interleaving 2\n" AMP END "arc_input 0 amp 0 0 3 0 0\n", "interleave=2 "},
    {"S1:L911 pointers in a sub-graph", "format_interleaving",
     SUBGRAPH "format 3\n format_interleaving 2\n" AMP END "arc_input 1 amp 0 0 3\narc_output 2 amp 0 1 3\n",
     "interleave=2 "},
    {"S1:L911 nowhere else", "format_interleaving",
     "format 3\n format_interleaving 2\n" AMP END "node amp 1\n" END "arc amp 0 1 3 amp 1 0 3\n",
     "error: format_interleaving 2 is for IOs that set the buffer, and for sub-graphs\n"},
    {"S0:L234", "format_nbchan", "format 3\n format_nbchan 32\n", "channels=32 "},
    {"S0:L234 range", "format_nbchan", "format 3\n format_nbchan 33\n", "allowed 1..32\n"},
    {"S0:L235", "format_time_stamp", "format 3\n format_time_stamp 3\n", "ts=3/0 "},
    {"S0:L236", "format_time_stamp_size", "format 3\n format_time_stamp_size 3\n", "ts=0/3 "},
    {"S0:L237", "format_sdomain", "format 3\n format_sdomain V\n", "unit=17 "},
    {"S0:L237 code", "format_sdomain", "format 3\n format_sdomain 104\n", "unit=104 "},
    {"S0:L254", "format_domain", "format 3\n format_domain audio_in\n", "domain=1 "},
    {"S0:L254 code", "format_domain", "format 3\n format_domain 15\n", "domain=15 "},
    {"S0:L255", "format_sampling_rate", "format 3\n format_sampling_rate 44100.5\n", "rate=44100.5 "},
    {"S0:L255 as a period", "format_sampling_period", "format 3\n format_sampling_period ms 20\n", "rate=50 "},
    {"S0:L255 as a period", "format_sampling_period", "format 3\n format_sampling_period day 1\n", "rate=1.15741e-05 "},
    {"S0:L256 bits of S0:L756", "format_audio_mapping", "format 3\n format_audio_mapping 5\n", "mapping=0x5 "},
    {"S0:L756 names", "format_audio_mapping", "format 3\n format_audio_mapping FL FC TBR and text\n",
     "mapping=0x20005 "},
    {"S0:L756 18 of them", "format_audio_mapping", "format 3\n format_audio_mapping 262144\n", "allowed 0..262143\n"},
    {"S0:L257", "format_motion_mapping", "format 3\n format_motion_mapping 7\n", "mapping=0x7 "},
    {"S0:L257 name", "format_motion_mapping", "format 3\n format_motion_mapping aXgXm0\n", "mapping=0x4 "},
    {"S0:L258", "format_2d_height", "format 3\n format_2d_height 480\n", "2d=0x480+0\n"},
    {"S0:L259", "format_2d_width", "format 3\n format_2d_width 640\n", "2d=640x0+0\n"},
    {"S0:L261", "format_2d_border", "format 3\n format_2d_border 2\n", "2d=0x0+2\n"},
    /* ---- IOs */
    {"S0:L267", "stream_io", "format 0\nstream_io 5\n", "io 0: id=5 f0 hwid=0 set=0,0,0 "},
    {"later", "stream_io_graph", "format 0\nstream_io_graph 5 9\n", "io 0: id=5 f0 hwid=9 "},
    {"S0:L268", "stream_io_format", "format 3\nstream_io 5\n stream_io_format 3\n", "io 0: id=5 f0 "},
    {"S0:L269", "stream_io_hwid", "format 0\nstream_io 5\n stream_io_hwid 9\n", " hwid=9 "},
    {"S0:L270", "stream_io_setting1", "format 0\nstream_io 5\n stream_io_setting1 0x30\n", " set=0x30,0,0 "},
    {"S0:L270 comment without a semicolon", "stream_io_setting1", "format 0\nstream_io 5\n stream_io_setting1 3 gain\n",
     " set=0x3,0,0 "},
    {"later", "stream_io_setting", "format 0\nstream_io 5\n stream_io_setting 1 2 3\n", " set=0x1,0x2,0x3 "},
    {"2024 rows", "top_graph_interface", "format 3\ntop_graph_interface\n; ID FORMAT HWID SETTING\n 5 3 9 7\n_end_\n",
     "io 0: id=5 f0 hwid=9 set=0x7,0,0 "},
    /* ---- nodes */
    {"S0:L306", "node", "node amp 3\n" END,
     "node 0: amp 3 scope= name= preset=0 proc=0 arch=0 rtos=0 verbose=0 trace=0 script=-1 own=-1"},
    {"2024 name on the next line", "node", "node\n amp 3 ; text\n" END, "node 0: amp 3 "},
    {"S0:L306 without end", "node", "node amp 3\nnode amp 4\n" END, "g.txt:1:6 warning: this node has no _end_"},
    {"own", "node_name", AMP "node_name gain\n" END, " name=gain "},
    {"S0:L320", "node_preset", AMP "node_preset 63\n" END, " preset=63 "},
    {"S0:L320 6 bits", "node_preset", AMP "node_preset 64\n" END, "allowed 0..63\n"},
    {"2024", "preset", AMP "preset 2\n" END, " preset=2 "},
    {"S0:L321", "node_malloc_E", AMP "node_malloc_E 12\n" END, " block0=E12\n"},
    {"S0:L321 comment without a semicolon", "node_malloc_E", AMP "node_malloc_E 12 bytes more\n" END, " block0=E12\n"},
    {"S0:L321 which block", "node_malloc_E", AMP "node_malloc_E 12 2\n" END, " block2=E12\n"},
    {"later", "node_malloc_add", AMP "node_malloc_add 12 1\n" END, " block1=E12\n"},
    {"S0:L322", "node_map_hwblock", AMP "node_map_hwblock 2 3\n" END, " block2=E0@3\n"},
    {"2024 list", "node_map_hwblock", AMP "node_map_hwblock 4 5 6\n" END, " block0=E0@4 block1=E0@5 block2=E0@6\n"},
    {"2024 list of one", "node_map_hwblock", AMP "node_map_hwblock 4 text\n" END, " block0=E0@4\n"},
    {"2024 2xxxyyy", "node_map_hwblock", AMP "node_map_hwblock 0 2003005\n" END, " block0=E0@0 block1=E0@3>5\n"},
    {"2024 1xxxyyy", "node_map_hwblock", AMP "node_map_hwblock 1003005\n" END, " block0=E0@3<>5\n"},
    {"2024 neither", "node_map_hwblock", AMP "node_map_hwblock 3003005\n" END,
     "error: neither a VID nor 1xxxyyy (swap) nor 2xxxyyy (copy from VID xxx to VID yyy)\n"},
    {"2024 list, once", "node_map_hwblock", AMP "node_map_hwblock 0 1\nnode_map_hwblock 4 5 6\n" END,
     "error: a list of VIDs stands alone: node_map_hwblock placed a block of this node already\n"},
    {"S0:L324", "node_map_copy", AMP "node_map_hwblock 1 3\nnode_map_copy 1 5\n" END, " block1=E0@3>5\n"},
    {"S0:L324 and where", "node_map_copy", AMP "node_map_copy 1 5 64\n" END, " block1=E0>5+64\n"},
    {"S0:L325", "node_map_swap", AMP "node_map_hwblock 1 3\nnode_map_swap 1 5\n" END, " block1=E0@3<>5\n"},
    {"S0:L325 and where", "node_map_swap", AMP "node_map_swap 1 5 64\n" END, " block1=E0<>5+64\n"},
    {"S0:L327", "node_trace_id", "format 0\nstream_io 5\nstream_io 6\n" AMP "node_trace_id 6\n" END, " trace=1 "},
    {"S0:L327 undeclared", "node_trace_id", GRAPH AMP "node_trace_id 6\n" END, "error: stream_io 6 is not declared\n"},
    {"S0:L328", "node_map_proc", AMP "node_map_proc 2\n" END, " proc=2 "},
    {"S0:L329", "node_map_arch", AMP "node_map_arch 7\n" END, " arch=7 "},
    {"S0:L329 name", "node_map_arch", AMP "node_map_arch armv8.1-m.main\n" END, " arch=5 "},
    {"S1:L567 name", "node_map_arch", AMP "node_map_arch script\n" END, " arch=7 "},
    {"S0:L330", "node_map_rtos", AMP "node_map_rtos 3\n" END, " rtos=3 "},
    {"S0:L331", "node_map_verbose", AMP "node_map_verbose 3\n" END, " verbose=3 "},
    {"S0:L333", "node_script", "script 0\n" RET END AMP "node_script 0\n" END, " script=0 own=-1"},
    {"S0:L333 none", "node_script", AMP "node_script -1\n" END, " script=-1 "},
    {"S0:L333 127 does not fit", "node_script", AMP "node_script 127\n" END, "script is 127, allowed -1..126\n"},
    {"S0:L312 0 is all", "node_parameters", AMP "node_parameters\n 1 u8; 0\n 2 i16; 1 -2\n" END END,
     " tag=256 params=0100feff\n"},
    {"S0:L312 n is one", "node_parameters", AMP "node_parameters\n 2 u8; 3 9\n" END END, " tag=3 params=09\n"},
    {"S0:L378 label without use", "node_parameters", AMP "node_parameters <ID2>\n 2 u8; 3 9\n" END END,
     "warning: a label is for the code of a script: it has no use here\n"},
    {"2024", "parameters", AMP "parameters\n 2 u8; 3 9\n" END END, " tag=3 params=09\n"},
    /* ---- scripts */
    {"S0:L405", "script", "script 0\n" RET END,
     "script 0: id=0 node=-1 scope= name= regs=2 ptrs=2 stack=0 shared=0 vid=0 "
     "budget=0 heap=0 code=00c0"},
    {"own", "script_name", "script 0\n script_name sum\n" RET END, " name=sum "},
    {"S0:L389", "script_registers", "script 0\n script_registers 6\n" RET END, " regs=6 "},
    {"S0:L390", "script_pointers", "script 0\n script_pointers 0\n" RET END, " ptrs=0 "},
    {"S0:L391", "script_stack", "script 0\n script_stack 12\n" RET END, " stack=12 "},
    {"S0:L394", "script_mem_shared", "script 0\n script_mem_shared 1\n" RET END, " shared=1 "},
    {"S0:L395", "script_mem_map", "script 0\n script_mem_map 3\n" RET END, " vid=3 "},
    {"own", "script_privileged", "script 0\n script_privileged 1\n" RET END, " privileged=1\n"},
    {"2024", "script_minimum", "script 0\n script_minimum 1\n" RET END, " regs=2 ptrs=1 "},
    {"own", "script_budget", "script 0\n script_budget 512\n" RET END, " budget=512 "},
    {"later", "script_heap", "script 0\n script_heap 32\n" RET END, " heap=32 "},
    {"S0:L354", "script_code", "script 0\n script_code\n 2 h16; 2002 0001\n 1 h16; C000\n _end_\n" END,
     " code=0220010000c0 literals="},
    {"S0:L431 a literal among the code", "script_code",
     "script 0\n script_code\n 1 h16; C000\n 1 f64; 1.0\n 7 i8; 2 3 4 5 6 7 8\n _end_\n" END,
     " code=00c0 literals=000000000000f03f02030405060708400d0000410008000200\n"},
    {"own, blocks close with end", "script_source",
     "script 0\n script_source\n  if 1 then\n  trace 1, 2\n  end\n _end_\n" END,
     " source=if 1 then\ntrace 1, 2\nend\n"},
    {"S0:L363", "script_assembler", "script 0\n script_assembler\n movi int16 r0 1\n ret\n _end_\n" END,
     " code=0220010000c0 "},
    {"S0:L378 label by number", "node_parameters",
     "script 0\n script_code\n 2 h16; 0846 C000\n _end_\n node_parameters #70\n 2 u8; 1 2\n 1 i16; -1\n _end_\n" END,
     " code=460800c0 literals=0102ffff460100000100\n"},
    {"S0:L378 label by name, the code before", "node_parameters",
     "node arm_stream_script 1\n script_assembler\n psha ID2\n ret\n _end_\n node_parameters <ID2>\n 1 i8; 0\n"
     " 7 i8; 2 3 4 5 6 7 8\n _end_\n" END,
     " literals=00020304050607087f0000000100\n"},
    {"S0:L382 the same label again goes on, the first without its end", "node_parameters",
     "node arm_stream_script 1\n script_assembler\n psha ID2\n ret\n _end_\n node_parameters <ID2>\n 1 i8; 0\n"
     " node_parameters <ID2>\n include 0 data.txt\n _end_\n" END,
     " literals=0001027f0000000100\n"},
    {"S0:L434 labels after the code", "script_parameters",
     "script 0\n script_code\n 1 h16; C000\n 1 u8; 9\n _end_\n script_parameters\n 1 u8; 8\n _end_\n" END,
     " literals=0908400100004101"},
    {"S0:L378 label twice", "node_parameters",
     "script 0\n script_code\n 1 h16; C000\n 1 u8; 9\n _end_\n node_parameters 64\n 1 u8; 8\n _end_\n" END,
     "g.txt:7:2 error: label 64 is that of a literal line already\n"},
    /* ---- arcs */
    {"S0:L445", "arc_input", GRAPH AMP END "arc_input 0 amp 0 0 0\n",
     "arc 0: io0 f0 > node0.0 f0 flow=0/0 debug=0:0/0 flush=0 "
     "vid=0 jitter=1 delay=0 script=-1 crumbs=0:0/0\n"},
    {"2024", "input_arc", GRAPH AMP END "input_arc 0 amp 0 0 0\n", "arc 0: io0 f0 > node0.0 f0 "},
    {"later set0copy1", "arc_input", GRAPH AMP END "arc_input 0 amp 0 0 0 0 0\n", " set\n"},
    {"later set0copy1 and another format", "arc_input", GRAPH "format 1\n" AMP END "arc_input 0 amp 0 0 0 1 1\n",
     "warning: the format of the IO's end is that of its stream_io_format, not this one\ng.txt:3:11 note: the IO is"},
    {"later set0copy1 and no format", "arc_input", GRAPH AMP END "arc_input 0 amp 0 0 0 1 7\n",
     "error: format 7 is not declared\n"},
    {"later H", "arc_input", GRAPH AMP END "arc_input 0 amp 0 0 0 1 0 H\n", " hqos\n"},
    {"S0:L447", "arc_output", GRAPH AMP END "arc_output 1 amp 0 1 0\n", "arc 0: node0.1 f0 > io1 f0 "},
    {"2024", "output_arc", GRAPH AMP END "output_arc 1 amp 0 1 0\n", "arc 0: node0.1 f0 > io1 f0 "},
    {"S0:L451 node, instance, port, format", "arc",
     "format 0\nformat 1\n format_frame_length 4\nnode node1 1\n" END "node node2 3\n" END
     "arc node1 1 2 0 node2 3 4 1\n",
     "arc 0: node0.2 f0 > node1.4 f1 "},
    {"later", "arc_nodes", GRAPH AMP END "arc_nodes amp 0 1 0 amp 0 0 0 H\n", "arc 0: node0.1 f0 > node0.0 f0 "},
    {"S0:L453 by domain", "arc_flow_error", AMP END ARC "arc_flow_error 1\n", " flow=0/0d "},
    {"S0:L453 comment without a semicolon", "arc_flow_error", AMP END ARC "arc_flow_error 1 do something\n",
     " flow=0/0d "},
    {"S1 2+2 bits", "arc_flow_error", AMP END ARC "arc_flow_error 2 1\n", " flow=2/1 "},
    {"S0:L454", "arc_debug_cmd", AMP END ARC "arc_debug_cmd 1\n", " debug=1:0/0 "},
    {"S0:L455", "arc_debug_reg", AMP END ARC "arc_debug_reg 3\n", " debug=0:3/0 "},
    {"S0:L456", "arc_debug_page", AMP END ARC "arc_debug_page 2\n", " debug=0:0/2 "},
    {"S0:L457", "arc_flush", AMP END ARC "arc_flush 3\n", " flush=3 "},
    {"S0:L458", "arc_extend_addr", AMP END ARC "arc_extend_addr 1\n",
     "warning: arc_extend_addr has no effect: sizes have 32 bits here\n"},
    {"S0:L459", "arc_map_hwblock", AMP END ARC "arc_map_hwblock 3\n", " vid=3! "},
    {"S0:L460", "arc_jitter_ctrl", AMP END ARC "arc_jitter_ctrl 1.5\n", " jitter=1.5 "},
    {"own", "arc_crumbs", AMP END ARC "arc_crumbs 2 1\n", " crumbs=1:2/1"},
    {"own", "arc_ring", AMP END ARC "arc_ring 2\n", " ring=2"},
    {"own", "arc_delay", AMP END ARC "arc_delay 3\n", " delay=3 "},
    {"own", "arc_script", "script 0\n" RET END AMP END ARC "arc_script 0\n", " script=0 crumbs"},
    {"own", "arc_no_convert", AMP END ARC "arc_no_convert\n", " plain\n"},
    {"S0:L474 contents are a delay", "arc_parameters",
     GRAPH AMP END ARC "arc_parameters\n 8 i16; 1 2 3 4 5 6 7 8\n_end_\n",
     " delay=2 script=-1 crumbs=0:0/0 data=01000200030004000500060007000800\n"},
    {"S0:L474 zeros behind", "arc_parameters",
     GRAPH AMP END ARC "arc_delay 2\narc_parameters\n 4 i16; 1 2 3 4\n_end_\n",
     " delay=2 script=-1 crumbs=0:0/0 data=0100020003000400\n"},
    {"S0:L474 whole frames", "arc_parameters", GRAPH AMP END ARC "arc_parameters\n 3 i16; 1 2 3\n_end_\n",
     "error: 6 bytes are no whole number of the producer's frames of 8 bytes\n"},
    {"own", "arc_constant", GRAPH AMP END "arc_constant amp 0 0 0\narc_parameters\n 4 i16; 1 2 3 4\n_end_\n",
     " data=0100020003000400\n"},
    {"later", "mem_fill_pattern", AMP END ARC "mem_fill_pattern 0xA5A5A5A5\n", " pattern=0xa5a5a5a5\n"},
};

/* What a case may include. */
#define FILES                                                                                                         \
    {"deep/part.txt", "node amp 7\n_end_\n"}, {"here.txt", "node amp 8\n_end_\n"}, {"data.txt", " 2 u8; 1 2\n"},      \
        {"sub.txt", "format 0\n format_frame_length 8\nnode amp 0\n_end_\narc_input 1 amp 0 0 0\narc_output 2 amp 0 " \
                    "1 0\n"},                                                                                         \
    {                                                                                                                 \
        NULL, NULL                                                                                                    \
    }

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Arcs and sub-graphs need IOs; other cases are shorter without them. */
static bool run_case(size_t i)
{
    char text[1600], part[1200];
    const char *c = cases[i].text;
    const bool sub = begins(c, SUBGRAPH);
    const bool arcs = !begins(c, GRAPH) && (strstr(c, "arc_input") != NULL || strstr(c, "subgraph s") != NULL ||
                                            strstr(c, "trace_io") != NULL);
    snprintf(part, sizeof part, "%s", c + (sub ? strlen(SUBGRAPH) : 0));
    if (sub) {
        snprintf(text, sizeof text, GRAPH "subgraph s 0 case.txt\n 0 1\n 3\n_end_\n");
    } else {
        snprintf(text, sizeof text, "%s%s", part, arcs ? GRAPH : "");
    }
    const file_t files[] = {{"g.txt", text}, {"case.txt", part}, FILES};
    (void)parse_files(files, &got);
    if (strstr(got.v, cases[i].want) == NULL) {
        print_error("%s %s\n%s  wanted: %s\n  got:\n%s", cases[i].seed, cases[i].tag, text, cases[i].want, got.v);
        return false;
    }
    return true;
}

static void test_S0_L204_to_L460_each_tag_means_what_the_seed_says(void **state)
{
    (void)state;
    unsigned wrong = 0;
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        wrong += !run_case(i);
    }
    assert_int_equal(wrong, 0);
}

static void every_row_of_graph_tags_has_a_case(void **state)
{
    (void)state;
    static const char *const tags[] = {
#define TW_GRAPH_INT(tag, where, field, lo, hi, dflt, text) #tag,
#define TW_GRAPH_CALL(tag, where, reader, args, dflt, text) #tag,
#define TW_GRAPH_ALIAS(alias, tag, text) #alias,
#include "host_tools/graphc/graph_tags.def"
    };
    unsigned missing = 0;
    for (size_t i = 0; i < TW_COUNT(tags); i++) {
        bool found = false;
        for (size_t k = 0; k < TW_COUNT(cases); k++) {
            found |= strcmp(cases[k].tag, tags[i]) == 0 && (cases[k].text[0] == 0 || strstr(cases[k].text, tags[i]));
        }
        if (!found) {
            print_error("no case for %s\n", tags[i]);
            missing++;
        }
    }
    assert_int_equal(missing, 0);
}

/* The graph's own tags, in a sub-graph, are said to do nothing; the others of its text count. */
static void tags_of_the_whole_graph_have_no_effect_in_a_sub_graph(void **state)
{
    (void)state;
    static const char *const texts[] = {"graph_name x\n",
                                        "scheduler_return 1\n",
                                        "memory_mapping 3 9 0 64\n",
                                        "top_memory_mapping\n 3 9 0 64\n_end_\n",
                                        "graph_trace_io 0\n",
                                        "debug_script_fields 1\n",
                                        "graph_map_hwblock 3\n",
                                        "graph_subgraphs 9\n"};
    for (size_t i = 0; i < TW_COUNT(texts); i++) {
        char sub[300];
        snprintf(sub, sizeof sub, "%sformat 0\nnode amp 0\n_end_\narc_input 1 amp 0 0 0\n", texts[i]);
        const file_t files[] = {{"g.txt", GRAPH "subgraph s 0 sub.txt\n 0\n_end_\n"}, {"sub.txt", sub}, {NULL, NULL}};
        assert_true(parse_files(files, &got));
        want(texts[i], &got, " is the whole graph's, and has no effect in a sub-graph\n");
        want(texts[i], &got, "graph: name= location=0 debug=0 return=3 map=0 processors=0x1 subgraphs=1 ");
        want(texts[i], &got, "node 0: amp 0 scope=s ");
        want_not(texts[i], &got, "map 0:");
    }
}

/* Diagnostics have places in the text, which the formatter moves. */
static void without_diags(say_t *s)
{
    char *at = strstr(s->v, "g.txt:");
    if (at != NULL) {
        *at = 0;
    }
}

/* What the formatter prints is the same graph, and printed again it is the same text. */
static void each_tag_survives_the_formatter(void **state)
{
    (void)state;
    static say_t before;
    unsigned wrong = 0;
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        char text[1600];
        tw_graph_fmt_t once, twice;
        snprintf(text, sizeof text, "%s", cases[i].text);
        file_t files[] = {{"g.txt", text}, FILES};
        if (begins(text, SUBGRAPH) || !parse_files(files, &before)) {
            continue;
        }
        without_diags(&before);
        const bool ok = tw_graph_fmt("g.txt", text, strlen(text), &once);
        files[0].text = ok ? once.text : "";
        (void)parse_files(files, &got);
        without_diags(&got);
        const bool same = ok && strcmp(before.v, got.v) == 0 && tw_graph_fmt("g.txt", once.text, once.n, &twice);
        if (!same || strcmp(once.text, twice.text) != 0) {
            print_error("%s %s\n%s\nprinted:\n%s\nbefore:\n%s\nafter:\n%s\n", cases[i].seed, cases[i].tag, text,
                        ok ? once.text : once.diags.rows[0].text, before.v, got.v);
            wrong++;
        }
        if (same) {
            tw_graph_fmt_free(&twice);
        }
        tw_graph_fmt_free(&once);
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_S0_L204_to_L460_each_tag_means_what_the_seed_says),
        cmocka_unit_test(every_row_of_graph_tags_has_a_case),
        cmocka_unit_test(each_tag_survives_the_formatter),
        cmocka_unit_test(tags_of_the_whole_graph_have_no_effect_in_a_sub_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
