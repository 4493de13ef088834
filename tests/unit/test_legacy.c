/* The older graph formats: the listing printed in seed 000 has the meaning it is stated to have; every published
 * listing decodes with its word count; nothing that is no listing is taken for one.
 */
#include "engine/board/manifest_lex.h"
#include "engine/base/bytes.h"
#include "host_tools/graphc/legacy/legacy_decode.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define CORPUS "../shared/corpus/graphs/"
#define SEED "../shared/seeds/000_4a531d0cd5ae887a.txt"

/* Seed 000, lines 93-198: the 55 words it prints, where the scan lost some as the same words stand elsewhere. */
static const uint32_t seed[55] = {0x00000091, 0x00000000, 0x00009123, 0x00000010, 0x00000006, 0x00000001, 0x000000FF,
                                  0x00000000, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFF3000, 0x00000000, 0xFFFFFFFF, 0xFFFFFFFF,
                                  0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFF3802,
                                  0x00000000, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFF1803, 0x00000000, 0x22000008, 0x467A0000,
                                  0x00000003, 0x2200000C, 0x467A0000, 0x00000004, 0x22000008, 0x0000001F, 0x00000000,
                                  0x00000003, 0x00030000, 0x05900004, 0xAD020200, 0x90B19261, 0x02020005, 0x000261AD,
                                  0x01020102, 0x90B17100, 0x00029801, 0x48010000, 0x1000006F, 0x00000090, 0x00300007,
                                  0x12310002, 0x12311D28, 0xD47563E8, 0x0B341231, 0x24701231, 0x00009821};

static tw_legacy_t listing;
static tw_diags_t diags;

static bool decode(const char *text, size_t n)
{
    memset(&diags, 0, sizeof diags);
    return tw_legacy_decode(&listing, "t", text, n, &diags);
}

static bool decode_words(const uint32_t *w, size_t n)
{
    char text[8192];
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "0x%08X, // %03zX\n", w[i], i);
    }
    return decode(text, used);
}

static void test_S0_L93_the_printed_words_decode(void **state)
{
    (void)state;
    assert_true(decode_words(seed, TW_COUNT(seed)));
    assert_int_equal(diags.errors, 0);
    assert_string_equal(diags.rows[0].text, "the listing announces 145 words, 54 are there");
    assert_int_equal(listing.layout, TW_LEGACY_FULL);
    assert_int_equal(listing.script_words, 9);
    assert_int_equal(listing.n_ios, 9);
    assert_int_equal(listing.n_formats, 3);
    assert_int_equal(listing.list_words, 16);
    assert_int_equal(listing.w[3], 6);
    assert_int_equal(listing.w[4], 1);
    static const struct {
        unsigned number, arc;
        bool tx, copy;
    } used[] = {{1, 0, false, true}, {6, 2, true, true}, {8, 3, true, false}};
    unsigned k = 0;
    for (unsigned i = 0; i < 9; i++) {
        const tw_legacy_io_t *io = &listing.ios[i];
        if (io->used) {
            assert_true(k < TW_COUNT(used));
            assert_int_equal(io->number, used[k].number);
            assert_int_equal(io->arc, used[k].arc);
            assert_int_equal(io->tx, used[k].tx);
            assert_int_equal(io->copy, used[k].copy);
            assert_true(io->servant);
            k++;
        }
    }
    assert_int_equal(k, 3);
    tw_legacy_free(&listing);
}

static void test_S0_L93_formats_of_the_printed_words(void **state)
{
    (void)state;
    static const struct {
        unsigned raw, frame, channels, specific;
        float rate;
    } want[] = {{17, 8, 1, 3, 16000.0f}, {17, 12, 1, 4, 16000.0f}, {17, 8, 32, 0, 0.0f}};
    assert_true(decode_words(seed, TW_COUNT(seed)));
    for (unsigned i = 0; i < 3; i++) {
        const tw_legacy_format_t *f = &listing.formats[i];
        assert_int_equal(f->raw, want[i].raw);
        assert_int_equal(f->frame_bytes, want[i].frame);
        assert_int_equal(f->channels, want[i].channels);
        assert_int_equal(f->specific, want[i].specific);
        assert_true(f->rate_hz == want[i].rate);
    }
    tw_legacy_free(&listing);
}

static void test_S0_L93_the_filter_of_the_printed_words(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0x02, 0x00, 0x31, 0x12, 0x28, 0x1D, 0x31, 0x12, 0xE8, 0x63, 0x75,
                                    0xD4, 0x31, 0x12, 0x34, 0x0B, 0x31, 0x12, 0x70, 0x24, 0x21, 0x98};
    assert_true(decode_words(seed, TW_COUNT(seed)));
    assert_int_equal(listing.n_nodes, 1); /* the second one begins behind the last word printed */
    const tw_legacy_node_t *n = &listing.nodes[0];
    assert_int_equal(listing.w[n->word], 0x00029801);
    assert_int_equal(n->index, 1);
    assert_int_equal(n->n_arcs, 2);
    assert_int_equal(n->arcs[0].arc, 0);
    assert_false(n->arcs[0].tx);
    assert_int_equal(n->arcs[1].arc, 1);
    assert_true(n->arcs[1].tx);
    assert_int_equal(n->n_memory, 2);
    assert_int_equal(listing.w[n->memory], 0x1000006F);
    assert_int_equal(listing.w[n->memory + 1], 0x00000090);
    assert_int_equal(listing.w[n->params], 0x00300007);
    assert_int_equal(n->n_params, 7);
    for (size_t i = 0; i < sizeof bytes; i++) {
        assert_int_equal(listing.w[n->params + 1 + i / 4] >> 8 * (i % 4) & 0xFF, bytes[i]);
    }
    char *text = tw_legacy_text(&listing);
    assert_non_null(strstr(text, "  002  00000010  16 words of node list\n"));
    assert_non_null(strstr(text, "bytes 61 92 B1 90\n"));
    free(text);
    tw_legacy_free(&listing);
}

/* The page as it was scanned: a word of ones lost in three pairs, digits lost, and one word of the filter. */
static void test_S0_L93_the_page_itself_is_read_and_its_losses_told(void **state)
{
    (void)state;
    size_t n = 0;
    char *page = tw_text_files.read(NULL, SEED, &n);
    if (page == NULL) {
        print_message("skipped: there is no " SEED "\n");
        skip();
    }
    const char *from = page, *to = page;
    for (unsigned line = 1; line < 93; line++) {
        from = strchr(from, '\n') + 1;
    }
    to = from;
    for (unsigned line = 93; line < 200; line++) {
        to = strchr(to, '\n') + 1;
    }
    assert_true(decode(from, (size_t)(to - from)));
    unsigned lost = 0, digits = 0;
    for (unsigned i = 0; i < diags.n; i++) {
        assert_true(diags.rows[i].warning);
        lost += strncmp(diags.rows[i].text, "one word of an unused IO", 24) == 0;
        digits += strncmp(diags.rows[i].text, "seven digits", 12) == 0;
    }
    assert_int_equal(lost, 3);
    assert_true(digits >= 9);
    assert_int_equal(listing.layout, TW_LEGACY_FULL);
    assert_int_equal(listing.n, 53);
    for (uint32_t i = 0; i < 45; i++) { /* up to the word that is missing */
        assert_int_equal(listing.w[i], seed[i + 1]);
    }
    assert_int_equal(listing.n_nodes, 0);
    assert_int_equal(listing.nodes_end, 43);
    tw_legacy_free(&listing);
    free(page);
}

/* ---- published listings --------------------------------------------------------------- */

/* A file with a NUL behind it. */
static char *read_string(const char *path, size_t *n)
{
    char *bytes = tw_text_files.read(NULL, path, n);
    char *text = bytes != NULL ? realloc(bytes, *n + 1) : NULL;
    if (text != NULL) {
        text[*n] = 0;
    }
    return text;
}

static unsigned occurrences(const char *text, const char *what)
{
    unsigned count = 0;
    for (const char *p = text; (p = strstr(p, what)) != NULL; p++) {
        count++;
    }
    return count;
}

static void published_listings_decode_to_their_last_word(void **state)
{
    (void)state;
    static const char e1[] = CORPUS "GRAPH_INTERPRETER@31fd022_2023-12-16/stream_graph/";
    static const char e2a[] = CORPUS "GRAPH_INTERPRETER@f152d82_2024-02-25/stream_platform/windows/";
    static const char e2b[] = CORPUS "GRAPH_INTERPRETER@cc81572_2024-05-23/stream_platform/windows/";
    static const struct {
        const char *folder, *file;
        unsigned words, there, nodes, arcs;
        tw_legacy_layout_t layout;
    } files[] = {
        {e1, "graph_0_bin.txt", 0x91, 0x91, 2, 6, TW_LEGACY_FULL},
        {e1, "graph_1_bin.txt", 0xCC, 0xCC, 0, 0, TW_LEGACY_EARLY},
        {e1, "graph_example.txt", 0xAF, 0xAF, 2, 9, TW_LEGACY_FULL},
        {e2a, "graph_0_bin.txt", 0x91, 0x91, 2, 6, TW_LEGACY_FULL},
        {e2b, "graph_0_bin.txt", 0x102, 0x102, 8, 12, TW_LEGACY_FULL},
        {e2b, "graph_0_bin_.txt", 0xF7, 0xF7, 8, 12, TW_LEGACY_FULL},
    };
    unsigned seen = 0;
    for (size_t i = 0; i < TW_COUNT(files); i++) {
        char path[256];
        size_t n = 0;
        snprintf(path, sizeof path, "%s%s", files[i].folder, files[i].file);
        char *text = read_string(path, &n);
        if (text == NULL) {
            continue;
        }
        seen++;
        print_message("%s\n", files[i].file);
        assert_true(decode(text, n));
        assert_int_equal(listing.announced, files[i].words);
        assert_int_equal(listing.n, files[i].there);
        assert_int_equal(listing.layout, files[i].layout);
        assert_int_equal(listing.n_nodes, files[i].nodes);
        assert_int_equal(listing.n_arcs, files[i].arcs);
        if (listing.layout == TW_LEGACY_FULL) {
            assert_int_equal(listing.nodes_end, listing.arcs_at - 1); /* no word of the list is left over */
            assert_int_equal(occurrences(text, " : arm_stream_") + occurrences(text, "-------arm_stream_"),
                             files[i].nodes); /* as its comments count */
        }
        tw_legacy_free(&listing);
        free(text);
    }
    if (seen == 0) {
        print_message("skipped: there is no " CORPUS "\n");
        skip();
    }
}

/* Listings stand beside later or earlier texts than they were made from; these two pairs have the same nodes. */
static void node_counts_are_those_of_the_texts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *bin, *node;
        unsigned scripts; /* written as nodes in the text, as scripts in the listing */
    } pairs[] = {
        {CORPUS "GRAPH_INTERPRETER@31fd022_2023-12-16/stream_graph/graph_0.txt",
         CORPUS "GRAPH_INTERPRETER@31fd022_2023-12-16/stream_graph/graph_0_bin.txt", "+ instance ID", 0},
        {CORPUS "GRAPH_INTERPRETER@f152d82_2024-02-25/stream_platform/windows/graph_0.txt",
         CORPUS "GRAPH_INTERPRETER@cc81572_2024-05-23/stream_platform/windows/graph_0_bin.txt", "\nnode", 1},
    };
    for (size_t i = 0; i < TW_COUNT(pairs); i++) {
        size_t n = 0, m = 0;
        char *text = read_string(pairs[i].text, &n), *bin = read_string(pairs[i].bin, &m);
        if (text == NULL || bin == NULL) {
            free(text);
            free(bin);
            print_message("skipped: there is no %s\n", pairs[i].text);
            skip();
        }
        assert_true(decode(bin, m));
        assert_int_equal(listing.n_nodes + pairs[i].scripts, occurrences(text, pairs[i].node));
        assert_true(listing.n_arcs >= listing.n_nodes + 1); /* a chain, its scripts and its trace */
        tw_legacy_free(&listing);
        free(text);
        free(bin);
    }
}

/* ---- what is no listing ------------------------------------------------------------------ */

static void what_is_no_listing_is_refused_or_left_as_words(void **state)
{
    (void)state;
    static const struct {
        const char *why, *text, *want; /* NULL: decodes, nothing understood */
    } cases[] = {
        {"empty", "", "no listing: expected words such as 0x0000001A, the first their number"},
        {"prose", "there is nothing here, not even 0xZZ\n",
         "no listing: expected words such as 0x0000001A, the first their number"},
        {"comment only", "// 0x00000001, 0x00000002\n",
         "no listing: expected words such as 0x0000001A, the first their number"},
        {"short word", "0x00000001\n0x123\n", "a word has 8 hexadecimal digits, this one 3"},
        {"long word", "0x00000001\n0x123456789ABCDEF0123\n", "a word has 8 hexadecimal digits, this one 19"},
        {"other words", "0x00000002 0x00000000 0x00000000\n", NULL},
        {"greedy counts", "0xFFFFFFFF 0xFFFFFFFF 0xFFFFFFFF 0xFFFFFFFF 0xFFFFFFFF\n", NULL},
    };
    for (size_t i = 0; i < TW_COUNT(cases); i++) {
        const bool ok = decode(cases[i].text, strlen(cases[i].text));
        if (ok != (cases[i].want == NULL) || (!ok && strcmp(diags.rows[0].text, cases[i].want) != 0)) {
            fail_msg("%s: %s", cases[i].why, diags.n > 0 ? diags.rows[0].text : "decoded");
        }
        if (ok) {
            assert_int_equal(listing.layout, TW_LEGACY_UNKNOWN);
            tw_legacy_free(&listing);
        }
        assert_null(listing.w);
    }
}

/* Every word of the printed listing in turn: cut there, all ones, all zeros. */
static void any_damage_ends_in_words_or_an_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_COUNT(seed); i++) {
        for (unsigned how = 0; how < 3; how++) {
            uint32_t w[TW_COUNT(seed)];
            memcpy(w, seed, sizeof w);
            w[i] = how == 1 ? 0xFFFFFFFF : how == 2 ? 0 : w[i];
            if (decode_words(w, how == 0 ? i : TW_COUNT(w))) {
                char *text = tw_legacy_text(&listing), *json = tw_legacy_json(&listing);
                assert_non_null(text);
                assert_non_null(json);
                free(text);
                free(json);
                tw_legacy_free(&listing);
            } else {
                assert_true(diags.errors > 0);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_S0_L93_the_printed_words_decode),
        cmocka_unit_test(test_S0_L93_formats_of_the_printed_words),
        cmocka_unit_test(test_S0_L93_the_filter_of_the_printed_words),
        cmocka_unit_test(test_S0_L93_the_page_itself_is_read_and_its_losses_told),
        cmocka_unit_test(published_listings_decode_to_their_last_word),
        cmocka_unit_test(node_counts_are_those_of_the_texts),
        cmocka_unit_test(what_is_no_listing_is_refused_or_left_as_words),
        cmocka_unit_test(any_damage_ends_in_words_or_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
