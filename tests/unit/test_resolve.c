/* What graphs say against what manifests say: formats of ports and IOs, settings words, processors, ports. */
#include "tests/unit/graphc_rig.h"

#define FORMATS "format 0\n format_frame_length 32\n format_sampling_rate 16000\n"
#define IOS "stream_io 0\n stream_io_hwid 0\nstream_io 1\n stream_io_hwid 5\n"
#define GAIN "node gain 0\n_end_\narc_input 0 gain 0 0 0\narc_output 1 gain 0 1 0\n"

/* ---- settings words ----------------------------------------------------------------- */

#define MIC "mic\naudio_in\nio_direction_rx0tx1 0\n"
static const struct {
    const char *why, *manifest, *tags;
    uint32_t word;
    const char *said; /* of errors and warnings, NULL none */
} settings[] = {
    {"S0:L663 no option, no word", MIC, "", 0, NULL},
    {"S0:L668 first option set least significant",
     MIC "io_nb_channels {1 2 1}\nio_sampling_rate {1 8000 16000 48000}\n", "", 1 + 2 * 1, NULL},
    {"S0:L668 in the order of the manifest", MIC "io_sampling_rate {1 8000 16000 48000}\nio_nb_channels {1 2 1}\n", "",
     1 + 3 * 1, NULL},
    {"S0:L667 what the format does not say is the default, counted from 1",
     MIC "io_nb_channels {1 1 2}\nio_analog_gain {3 0 12 24}\n", "", 2 * 2, NULL},
    {"S1:L360 bits fixed by the manifest",
     MIC "io_nb_channels {1 2 1}\nio_setting_bits io_nb_channels 3\nio_sampling_rate {1 8000 16000}\n"
         "io_setting_bits io_sampling_rate 4\n",
     "", 1 + 8 * 1, NULL},
    {"a word that is one of them", MIC "io_nb_channels {1 2 1}\nio_analog_gain {1 0 12 24}\n",
     " stream_io_setting1 3\n", 3, NULL},
    {"a word that is none", MIC "io_nb_channels {1 2 1}\nio_analog_gain {1 0 12 24}\n", " stream_io_setting1 6\n", 6,
     "error: settings 0x6 0 0 are none that the options of mic make"},
    {"a word that says otherwise", MIC "io_nb_channels {1 2 1}\nio_analog_gain {1 0 12 24}\n",
     " stream_io_setting1 4\n", 4,
     "warning: the settings choose io_nb_channels 2, the format says 1\n1:8 note: format 0 is declared here"},
    {"S0:L270 zeros that are given are a choice too", MIC "io_nb_channels {1 2 1}\nio_analog_gain {3 0 12 24}\n",
     " stream_io_setting1 0\n", 0,
     "warning: the settings choose io_nb_channels 2, the format says 1\n1:8 note: format 0 is declared here"},
    {"S0:L270 zeros that are given and the format agrees", MIC "io_nb_channels {1 1 2}\nio_analog_gain {3 0 12 24}\n",
     " stream_io_setting1 0\n", 0, NULL},
    {"an IO without options keeps its word", MIC, " stream_io_setting1 77\n", 77, NULL},
};

static void settings_words_are_the_format_in_the_options(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(settings); i++) {
        char text[1024];
        const rig_file_t files[] = {{"in0.txt", settings[i].manifest}, {NULL, NULL}};
        snprintf(text, sizeof text, FORMATS "stream_io 0\n stream_io_hwid 0\n%sstream_io 1\n stream_io_hwid 5\n" GAIN,
                 settings[i].tags);
        rig_t r;
        rig_more = files;
        (void)rig_compile(&r, text);
        rig_more = NULL;
        const bool said = settings[i].said != NULL ? strstr(rig_said(&r), settings[i].said) != NULL : r.diags.n == 0;
        if (!said || r.m.ios[0].setting[0] != settings[i].word) {
            fail_msg("%s: word %u\n%s", settings[i].why, r.m.ios[0].setting[0], rig_said(&r));
        }
        rig_free(&r);
    }
}

/* ---- refusals --------------------------------------------------------------------------- */

static const struct {
    const char *why, *in0, *gain, *text, *said;
} refusals[] = {
    {"S0:L538 channels of a port", NULL,
     "rig\ngain\n" RIG_ARC(0, 0, "S16") "node_arc_nb_channels {1 2 4}\n" RIG_ARC(1, 1, "S16"), FORMATS IOS GAIN,
     "error: gain arc 0 takes channels 2 4, the format has 1\n1:8 note: format 0 is declared here\n"
     "0:0 note: the node's manifest\n"},
    {"S0:L540 samples of a port", NULL,
     "rig\ngain\n" RIG_ARC(0, 0, "S16") "node_arc_frame_length {1 8 32}\n" RIG_ARC(1, 1, "S16"), FORMATS IOS GAIN,
     "error: gain arc 0 takes frames of samples 8 32, the format has 16\n"},
    {"S0:L541 milliseconds of a port", NULL,
     "rig\ngain\n" RIG_ARC(0, 0, "S16") "node_arc_frame_duration {1 10 20}\n" RIG_ARC(1, 1, "S16"), FORMATS IOS GAIN,
     "error: gain arc 0 takes frames of [ms] 10 20, the format has 1\n"},
    {"S0:L536 rates of a port", NULL,
     "rig\ngain\n" RIG_ARC(0, 0, "S16") "node_arc_sampling_rate {1 8000}\n" RIG_ARC(1, 1, "S16"), FORMATS IOS GAIN,
     "error: gain arc 0 takes rates [Hz] 8000, the format has 16000\n"},
    {"S0:L537 a block per channel", NULL,
     "rig\ngain\n" RIG_ARC(0, 0, "S16") "node_arc_interleaving 1\n" RIG_ARC(1, 1, "S16"),
     "format 0\n format_frame_length 32\n format_nbchan 2\n" IOS GAIN,
     "error: gain arc 0 takes a block per channel, the format is interleaved\n"},
    {"S0:L748 raw type of an IO", "io_in0\ngeneral\nio_direction_rx0tx1 0\nio_raw_format FP32\n", NULL,
     FORMATS IOS GAIN,
     "error: io_in0 carries FP32, format 0 is S16\n1:8 note: format 0 is declared here\n0:0 note: the IO's manifest\n"},
    {"S0:L749 layout of an IO", "io_in0\ngeneral\nio_direction_rx0tx1 0\nio_interleaving 1\n", NULL,
     "format 0\n format_frame_length 32\n format_nbchan 2\n" IOS GAIN,
     "error: io_in0 carries channels a block per channel, format 0 has them interleaved\n"},
    {"S0:L725 unit of an IO", "io_in0\ngeneral\nio_direction_rx0tx1 0\nio_subtype_units mV\n", NULL,
     "format 0\n format_frame_length 32\n format_sdomain V\n" IOS GAIN, "error: io_in0 carries mV, format 0 is in V\n"},
    {"S0:L724 milliseconds of an IO", "io_in0\ngeneral\nio_direction_rx0tx1 0\nio_frame_duration {1 10 16}\n", NULL,
     FORMATS IOS GAIN, "error: io_in0 takes frames of [ms] 10 16, the format has 1\n"},
    {"S0:L269 an IO the platform has not", NULL, NULL,
     FORMATS "stream_io 0\n stream_io_hwid 77\nstream_io 1\n stream_io_hwid 5\n" GAIN,
     "error: stream_io 0: the platform has no IO with hwid 77\n"
     "0:0 note: its IOs are 0 io_in0, 1 io_in1, 2 io_in2, 5 io_out0, 6 io_out1, 7 io_out2\n"},
    {"two IOs of one hwid", NULL, NULL, FORMATS IOS "stream_io 2\n stream_io_hwid 0\n" GAIN,
     "8:11 error: hwid 0 is used by stream_io 0 already\n4:11 note: first used here\n"},
    {"an output as input", NULL, NULL,
     FORMATS IOS "node gain 0\n_end_\narc_input 1 gain 0 0 0\narc_output 1 gain 0 1 0\n",
     "error: io_out0 is an output of the graph\n0:0 note: the IO's manifest\n"},
    {"two producers of an output", NULL, NULL,
     FORMATS IOS "node gain 0\n_end_\nnode gain 1\n_end_\narc_input 0 gain 0 0 0\narc_input 0 gain 1 0 0\n"
                 "arc_output 1 gain 0 1 0\narc_output 1 gain 1 1 0\n",
     "15:12 error: stream_io 1 is connected already: an output has one producer\n14:12 note: first connected here\n"},
    {"two producers of a port", NULL, NULL,
     FORMATS IOS "stream_io 2\n stream_io_hwid 1\nnode gain 0\n_end_\narc_input 0 gain 0 0 0\narc_input 2 gain 0 0 0\n"
                 "arc_output 1 gain 0 1 0\n",
     "error: arc 0 of gain 0 is connected already: a receive arc has one producer\n12:13 note: first connected here\n"},
    {"a direction", NULL, NULL, FORMATS IOS "node gain 0\n_end_\narc_input 0 gain 0 1 0\narc_output 1 gain 0 0 0\n",
     "error: arc 1 of gain is a transmit arc, here it would consume\n10:13 note: receive arcs of gain begin at 0\n"},
    {"a port", NULL, NULL, FORMATS IOS "node gain 0\n_end_\narc_input 0 gain 0 2 0\narc_output 1 gain 0 1 0\n",
     "error: gain has 2 arcs, there is no arc 2\n0:0 note: the node's manifest\n"},
    {"S0:L329 a processor the platform has not", NULL, NULL,
     "allowed_processors 255\n" FORMATS IOS
     "node gain 0\n node_map_proc 3\n_end_\narc_input 0 gain 0 0 0\narc_output 1 gain 0 1 0\n",
     "error: node_map_proc 3: the platform has no such processor\n"},
    {"S0:L222 a processor the graph leaves out", NULL, NULL,
     FORMATS IOS "node gain 0\n node_map_proc 2\n_end_\narc_input 0 gain 0 0 0\narc_output 1 gain 0 1 0\n",
     "error: node_map_proc 2: allowed_processors 1 leaves it out\n"},
    {"S0:L330 an architecture the node is not for", NULL,
     "rig\ngain\nnode_architecture 3\n" RIG_ARC(0, 0, "S16") RIG_ARC(1, 1, "S16"),
     FORMATS IOS "node gain 0\n node_map_arch 2\n_end_\narc_input 0 gain 0 0 0\narc_output 1 gain 0 1 0\n",
     "error: node_map_arch 2: gain is made for architecture 3\n"},
    {"S0:L479 services the platform has not", NULL,
     "rig\ngain\nnode_mask_library 256\n" RIG_ARC(0, 0, "S16") RIG_ARC(1, 1, "S16"), FORMATS IOS GAIN,
     "error: gain needs services 0x100, the platform has 0xff\n0:0 note: the node's manifest\n"},
    {"S0:L483 a node with a key", NULL, "rig\ngain\nnode_use_unlock_key 1\n" RIG_ARC(0, 0, "S16") RIG_ARC(1, 1, "S16"),
     FORMATS IOS GAIN, "error: gain wants a key exchange, which is refused\n"},
};

static void what_manifests_forbid_is_refused_with_both_places(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(refusals); i++) {
        rig_file_t files[3] = {{NULL, NULL}};
        unsigned n = 0;
        if (refusals[i].in0 != NULL) {
            files[n++] = (rig_file_t){"in0.txt", refusals[i].in0};
        }
        if (refusals[i].gain != NULL) {
            files[n++] = (rig_file_t){"gain.txt", refusals[i].gain};
        }
        rig_t r;
        rig_more = files;
        const bool ok = rig_compile(&r, refusals[i].text);
        rig_more = NULL;
        if (ok || strstr(rig_said(&r), refusals[i].said) == NULL) {
            fail_msg("%s:\n%s", refusals[i].why, rig_said(&r));
        }
        rig_free(&r);
    }
}

/* S0:L453 "arc_flow_error 1" alone: by the domain of the stream. */
static void S0_L453_one_flow_error_is_the_domains(void **state)
{
    (void)state;
    static const struct {
        const char *domain;
        uint8_t underflow, overflow;
    } domains[] = {{"audio_in", 2, 1}, {"audio_out", 2, 1}, {"general", 1, 2}, {"2d_in", 1, 2}, {"gpio_in", 1, 2}};
    for (size_t i = 0; i < TW_COUNT(domains); i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 FORMATS " format_domain %s\n" IOS "node gain 0\n_end_\narc_input 0 gain 0 0 0\n arc_flow_error 1\n"
                         "arc_output 1 gain 0 1 0\n",
                 domains[i].domain);
        rig_t r;
        rig_must(&r, domains[i].domain, text);
        assert_int_equal(r.m.arcs[0].underflow, domains[i].underflow);
        assert_int_equal(r.m.arcs[0].overflow, domains[i].overflow);
        rig_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_words_are_the_format_in_the_options),
        cmocka_unit_test(what_manifests_forbid_is_refused_with_both_places),
        cmocka_unit_test(S0_L453_one_flow_error_is_the_domains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
