/* Graphs and manifests of all generations are told apart by their first lines. */
#include "engine/board/manifest_kind.h"
#include "engine/board/manifest_lex.h"
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void a_text_is_told_by_its_first_lines(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        tw_manifest_kind_t kind;
    } cases[] = {
        {"", TW_KIND_EMPTY},
        {"; only words about it\n\n", TW_KIND_EMPTY},
        {"format 0\nformat_frame_length 8\n", TW_KIND_GRAPH},
        {"; a sub-graph\nnode arm_stream_filter 0\n", TW_KIND_GRAPH},
        {"graph_location 3\n", TW_KIND_GRAPH},
        {"graph\ntop_header\n 1 0 1 0\n", TW_KIND_GRAPH},
        {"h, 2 in, 2 out,\n", TW_KIND_GRAPH},
        {"arc_section\n", TW_KIND_GRAPH},
        {"input_arc 1 x 0 0 0\n", TW_KIND_GRAPH},
        {"ARM\narm_stream_x\nnode_nb_arcs 1 1\n", TW_KIND_NODE},
        {"ARM\narm_stream_x\n", TW_KIND_NODE},
        {"node_developer_name ARM\nnode_name x\n", TW_KIND_NODE},
        {"ARM\narm_stream_x\nS 1 1\n", TW_KIND_NODE_POSITIONAL},
        {"ARM\narm_stream_x\nX 1 1 0 1 0 15 1\n", TW_KIND_NODE_POSITIONAL},
        {"ARM developer name\narm_x node name\n1 1 0 1 1 1 0 31\n", TW_KIND_NODE_POSITIONAL},
        {"ARM developer name\n2 nb of arcs\nX\n1 1 0\n", TW_KIND_NODE_POSITIONAL},
        {"1 c; ARM\n1 u8; 3\n", TW_KIND_NODE_POSITIONAL},
        {"io_mic\naudio_in\n", TW_KIND_IO},
        {"mic\ndata_in\nio_frame_length 4\n", TW_KIND_IO},
        {"io_mic name\naudio_in domain name\n1 commander\n", TW_KIND_IO_POSITIONAL},
        {"1\n./\n0 procmap.txt\n1\n0 io.txt 4 1 0\n", TW_KIND_TOP},
        {"1\n./\n0 procmap.txt\n0\n0\n", TW_KIND_TOP},
        {"2 paths\n0 ./\n1 ../x/\n1 processors\n1 memories\n0 8000 1 0 1 -1\n", TW_KIND_TOP_PROCESSORS},
        {"1\n../\n0 platform_manifest_x.txt\n1\n0 io.txt 1\n", TW_KIND_FILES},
        {"1\n../\n0 other.txt\n1\n0 io.txt 1 the application\n", TW_KIND_FILES},
        {"1 1 1\n0 0 1 0 0 0 0 1000 0\n1 1 15\n", TW_KIND_PROCMAP},
        {"1 1 1 1\n0 0 1 0 0 0 0 1000 0\n0 h20000000\n1 1 15\n", TW_KIND_PROCMAP},
        {"1 1 0\n1 1 15\n", TW_KIND_PROCMAP},
        {"1 1\n1 1 3 1 9\n31\n0 h20000000\n", TW_KIND_PLATFORM},
        {"1 1\n1 3 8 1\n31\n", TW_KIND_PLATFORM},
        {"// made by a tool\n0x00000091,\n", TW_KIND_LISTING},
        {"0x00000091, // words\n", TW_KIND_LISTING},
        {"ARC0 @= 0 0\nmemory bank(0) address= 444\n", TW_KIND_LISTING},
        {"/*\n +-> a +->\n*/\n0x00000033, // words\n", TW_KIND_LISTING},
        {"c words\nc more of them\no 0 shared;\n", TW_KIND_OLDER},
        {"IO_stream_manifest:\n1 c; mic\n1 u8; 3\n", TW_KIND_OLDER},
        {"1 c; ..\\x\\\n1 u8; 2\n", TW_KIND_OLDER},
        {"LITN INT8 12\nLDSR R0\n", TW_KIND_OLDER},
        {"0\n1\n2\n3\n", TW_KIND_DOCUMENT},
        {"1 this,\n2 that,\n3 and\n4 so\n", TW_KIND_DOCUMENT},
        {"7\n8\n9\n", TW_KIND_UNKNOWN},
        {"99999999999999999999\n", TW_KIND_UNKNOWN},
        {"1000000\n./\n", TW_KIND_UNKNOWN},
        {"once upon\na time\nthere was\n", TW_KIND_UNKNOWN},
        {"\xFF\xFE\x01", TW_KIND_UNKNOWN},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const tw_manifest_kind_t kind = tw_manifest_detect(cases[i].text, strlen(cases[i].text));
        if (kind != cases[i].kind) {
            fail_msg("case %zu: %s, expected %s", i, tw_manifest_kind_text(kind), tw_manifest_kind_text(cases[i].kind));
        }
    }
}

static void every_kind_has_a_name(void **state)
{
    (void)state;
    for (unsigned i = 0; i < TW_KIND_COUNT; i++) {
        assert_true(strlen(tw_manifest_kind_text((tw_manifest_kind_t)i)) > 3);
    }
    assert_string_equal(tw_manifest_kind_text(TW_KIND_COUNT), tw_manifest_kind_text(TW_KIND_UNKNOWN));
}

/* ---- public texts ------------------------------------------------------------- */

#define CORPUS "../shared/corpus/graphs"

static tw_manifest_kind_t kind_by_name(const char *name)
{
    static const struct {
        const char *part;
        tw_manifest_kind_t kind;
    } names[] = {
        {"_bin", TW_KIND_LISTING},          {"graph_example", TW_KIND_LISTING},
        {"_listing", TW_KIND_LISTING},      {"list_enum", TW_KIND_DOCUMENT},
        {"NodesDesc", TW_KIND_DOCUMENT},    {"NodeManifest", TW_KIND_NODE},
        {"IoManifest", TW_KIND_IO},         {"io_platform", TW_KIND_IO},
        {"top_manifest", TW_KIND_TOP},      {"procmap", TW_KIND_PROCMAP},
        {"files_manifests", TW_KIND_FILES}, {"platform_manifest", TW_KIND_PLATFORM},
        {"swc_manifest", TW_KIND_NODE},     {"raph", TW_KIND_GRAPH},
    };
    for (size_t i = 0; i < TW_COUNT(names); i++) {
        if (strstr(name, names[i].part) != NULL) {
            return names[i].kind;
        }
    }
    return TW_KIND_COUNT;
}

static unsigned try_file(const char *path, const char *name)
{
    size_t n = 0;
    char *text = tw_text_files.read(NULL, path, &n);
    assert_non_null(text);
    tw_manifest_kind_t kind = tw_manifest_detect(text, n);
    free(text);
    kind = kind == TW_KIND_NODE_POSITIONAL ? TW_KIND_NODE : kind;
    if (kind_by_name(name) != TW_KIND_COUNT && kind != kind_by_name(name)) {
        fail_msg("%s: %s, expected %s", path, tw_manifest_kind_text(kind), tw_manifest_kind_text(kind_by_name(name)));
    }
    return kind_by_name(name) != TW_KIND_COUNT;
}

/* Folders are few and shallow: the depth bounds the walk. */
static unsigned try_folder(const char *folder, unsigned depth)
{
    unsigned count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir != NULL && depth > 0 && (e = readdir(dir)) != NULL;) {
        char path[700];
        const size_t len = strlen(e->d_name);
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] == '.') {
            continue;
        }
        if (len > 4 && strcmp(e->d_name + len - 4, ".txt") == 0) {
            count += try_file(path, e->d_name);
        } else {
            count += try_folder(path, depth - 1);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return count;
}

static void public_texts_are_what_their_names_say(void **state)
{
    (void)state;
    DIR *dir = opendir(CORPUS);
    if (dir == NULL) {
        print_message("no %s here: public texts not tried\n", CORPUS);
        skip();
    }
    closedir(dir);
    assert_true(try_folder(CORPUS, 10) >= 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_told_by_its_first_lines),
        cmocka_unit_test(every_kind_has_a_name),
        cmocka_unit_test(public_texts_are_what_their_names_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
