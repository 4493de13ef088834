/* The daemon's command line and key file. Built from its sources: they are the program's, in no library. */
#include "server/main_files.c"
#include "server/main_options.c"
#include <fcntl.h>
#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

enum { MAX_ARGS = 8 };

/* Complaints and help are for people: out of the way of the test's own report. */
static int read_quietly(options_t *o, const char *const *args)
{
    char *argv[MAX_ARGS + 1] = {(char *)"tunewired"};
    int argc = 1;
    while (argc < MAX_ARGS && args[argc - 1] != NULL) {
        argv[argc] = (char *)args[argc - 1];
        argc++;
    }
    fflush(stdout);
    fflush(stderr);
    const int out = dup(1), err = dup(2), null = open("/dev/null", O_WRONLY);
    dup2(null, 1);
    dup2(null, 2);
    const int code = options_read(o, argc, argv);
    fflush(stdout);
    fflush(stderr);
    dup2(out, 1);
    dup2(err, 2);
    close(out), close(err), close(null);
    return code;
}

static void wrong_use_is_code_2(void **state)
{
    (void)state;
    static const struct {
        const char *why, *args[MAX_ARGS];
    } cases[] = {
        {"no platform", {"--graph", "x"}},
        {"nothing", {NULL}},
        {"no value", {"--platform"}},
        {"empty value", {"--platform="}},
        {"unknown option", {"--platform", "x", "--frobnicate"}},
        {"prefix of an option", {"--plat", "x"}},
        {"not an option", {"x"}},
        {"one dash", {"-platform", "x"}},
        {"port missing", {"--platform", "x", "--listen", "127.0.0.1"}},
        {"port empty", {"--platform", "x", "--listen", "127.0.0.1:"}},
        {"port too large", {"--platform", "x", "--listen", "127.0.0.1:65536"}},
        {"port with a tail", {"--platform", "x", "--listen", "127.0.0.1:56x"}},
        {"port negative", {"--platform", "x", "--listen", "127.0.0.1:-1"}},
        {"host missing", {"--platform", "x", "--listen", ":5600"}},
        {"IPv6 without brackets", {"--platform", "x", "--listen", "::1:5600"}},
        {"another scheme", {"--platform", "x", "--listen", "usb://127.0.0.1:5600"}},
        {"pace", {"--platform", "x", "--pace", "slow"}},
        {"blocks 0", {"--platform", "x", "--blocks", "0"}},
        {"blocks text", {"--platform", "x", "--blocks", "many"}},
        {"priority 0", {"--platform", "x", "--priority", "0"}},
        {"priority 100", {"--platform", "x", "--priority", "100"}},
        {"level", {"--platform", "x", "--log-level", "loud"}},
        {"io without =", {"--platform", "x", "--io", "audio_in_0"}},
        {"help with a value", {"--help=x"}},
    };
    for (unsigned i = 0; i < TW_COUNT(cases); i++) {
        options_t o;
        const int code = read_quietly(&o, cases[i].args);
        if (code != 2) {
            fail_msg("%s: %d", cases[i].why, code);
        }
    }
}

static void help_and_version_are_code_0_whatever_follows(void **state)
{
    (void)state;
    options_t o;
    assert_int_equal(read_quietly(&o, (const char *const[]){"--help", "--frobnicate", NULL}), 0);
    assert_int_equal(read_quietly(&o, (const char *const[]){"--version", NULL}), 0);
}

static void options_say_what_they_mean(void **state)
{
    (void)state;
    options_t o;
    assert_int_equal(read_quietly(&o, (const char *const[]){"--platform", "top.txt", NULL}), -1);
    assert_string_equal(o.host, "127.0.0.1");
    assert_int_equal(o.port, 5600);
    assert_false(o.fast);
    assert_int_equal(o.blocks, 0);
    assert_int_equal(o.log_level, 3);
    assert_int_equal(read_quietly(&o, (const char *const[]){"--platform=top.txt", "--listen=[::1]:0", "--io=a=b=c",
                                                            "--io", "d=ramp", "--pace=fast", NULL}),
                     -1);
    assert_string_equal(o.host, "::1");
    assert_int_equal(o.port, 0);
    assert_int_equal(o.n_ios, 2);
    assert_string_equal(o.ios[0], "a=b=c"); /* a file name may contain what it likes */
    assert_string_equal(o.ios[1], "d=ramp");
    assert_true(o.fast);
    assert_int_equal(read_quietly(&o, (const char *const[]){"--platform=x", "--listen", "tcp://0.0.0.0:5601",
                                                            "--blocks=12", "--log-level=debug", NULL}),
                     -1);
    assert_string_equal(o.host, "0.0.0.0");
    assert_int_equal(o.port, 5601);
    assert_int_equal(o.blocks, 12);
    assert_int_equal(o.log_level, 4);
}

#define HEX16 "000102030405060708090a0B0C0D0E0F"

static void key_files_are_one_line_of_hex(void **state)
{
    (void)state;
    static const struct {
        const char *text, *id; /* id NULL: refused */
        uint32_t len;
    } cases[] = {
        {HEX16, "default", 16},
        {"# a comment\n\n  lab:" HEX16 HEX16 "\r\nnoise", "lab", 32},
        {"fifteen-letters:" HEX16 "\n", "fifteen-letters", 16},
        {"sixteen--letters:" HEX16 "\n", NULL, 0},
        {":" HEX16, NULL, 0},
        {"", NULL, 0},
        {"# only a comment", NULL, 0},
        {"000102030405060708090a0b0c0d0e", NULL, 0}, /* 15 bytes */
        {HEX16 "0", NULL, 0},                        /* half a byte */
        {HEX16 HEX16 HEX16 HEX16, "default", 64},
        {HEX16 HEX16 HEX16 HEX16 "00", NULL, 0}, /* 65 bytes */
        {"xx0102030405060708090a0b0c0d0e0f", NULL, 0},
    };
    for (unsigned i = 0; i < TW_COUNT(cases); i++) {
        key_text_t key;
        char why[320] = "";
        const bool ok = key_parse(&key, cases[i].text, strlen(cases[i].text), why);
        if (ok != (cases[i].id != NULL)) {
            fail_msg("row %u: %s", i, why);
        }
        if (ok) {
            assert_string_equal(key.id, cases[i].id);
            assert_int_equal(key.len, cases[i].len);
            assert_int_equal(key.bytes[11], 11);
        }
    }
    key_text_t key;
    char why[320] = "";
    assert_false(key_read(&key, "/proc/none/key", why));
    assert_non_null(strstr(why, "/proc/none/key: No such file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_use_is_code_2),
        cmocka_unit_test(help_and_version_are_code_0_whatever_follows),
        cmocka_unit_test(options_say_what_they_mean),
        cmocka_unit_test(key_files_are_one_line_of_hex),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
