/* verb_gpio.c - tunewire gpio get, set, watch: the pins of a device. */
#include "host_tools/tunewire/cli.h"

enum { PINS = 32 };

static void print_state(tw_cli_t *cli, const tunewire_v1_GpioState *s)
{
    if (cli->json) {
        cli_json_line(cli, json_pack("{s:I, s:I, s:I, s:I}", "port", (json_int_t)s->port, "value", (json_int_t)s->value,
                                     "direction", (json_int_t)s->direction, "t_us", (json_int_t)s->t_us));
        return;
    }
    (void)fprintf(cli->out, "%11.6f  pins %08x  outputs %08x\n", (double)s->t_us / 1e6, s->value, s->direction);
    (void)fflush(cli->out);
}

static bool number_below(const char *text, uint32_t end, uint32_t *out)
{
    char *rest;
    const unsigned long n = strtoul(text, &rest, 10);
    *out = (uint32_t)n;
    return text[0] >= '0' && text[0] <= '9' && *rest == '\0' && n < end;
}

int verb_gpio_get(tw_cli_t *cli)
{
    tunewire_v1_GpioRef req = tunewire_v1_GpioRef_init_zero;
    tunewire_v1_GpioState rep = tunewire_v1_GpioState_init_zero;
    uint32_t pin = PINS;
    if (cli->n_args > 0 && !number_below(cli->args[0], PINS, &pin)) {
        return cli_fail(cli, CLI_USAGE, cli->args[0], "pins are 0 to 31", "no such pin");
    }
    if (!tw_client_call(cli->c, &(tw_client_call_t){.method = TW_M_Gpio_Get, .request = &req, .response = &rep})) {
        return cli_fail_client(cli, "gpio");
    }
    if (pin < PINS && !cli->json) {
        (void)fprintf(cli->out, "%u\n", rep.value >> pin & 1u);
    } else {
        print_state(cli, &rep);
    }
    return CLI_OK;
}

/* PIN=LEVEL, level 0, 1, on or off. */
static bool take_pin(const char *text, tunewire_v1_GpioSet *req)
{
    char pin[4] = "";
    const char *eq = strchr(text, '=');
    uint32_t n = 0;
    if (eq == NULL || (size_t)(eq - text) >= sizeof pin) {
        return false;
    }
    memcpy(pin, text, (size_t)(eq - text));
    const bool on = strcmp(eq + 1, "1") == 0 || strcmp(eq + 1, "on") == 0;
    const bool off = strcmp(eq + 1, "0") == 0 || strcmp(eq + 1, "off") == 0;
    if (!number_below(pin, PINS, &n) || !(on || off)) {
        return false;
    }
    req->mask |= 1u << n;
    req->value = (req->value & ~(1u << n)) | (on ? 1u << n : 0);
    return true;
}

int verb_gpio_set(tw_cli_t *cli)
{
    tunewire_v1_GpioSet req = tunewire_v1_GpioSet_init_zero;
    tunewire_v1_GpioState rep = tunewire_v1_GpioState_init_zero;
    for (int i = 0; i < cli->n_args; i++) {
        if (!take_pin(cli->args[i], &req)) {
            return cli_fail(cli, CLI_USAGE, cli->args[i], "PIN=LEVEL: 0..31, and on, off, 1 or 0", "no such setting");
        }
    }
    if (!tw_client_call(cli->c, &(tw_client_call_t){.method = TW_M_Gpio_Set, .request = &req, .response = &rep})) {
        return cli_fail_client(cli, "gpio");
    }
    print_state(cli, &rep);
    return CLI_OK;
}

static bool on_state(void *ctx, const tunewire_v1_GpioState *s)
{
    tw_cli_t *cli = ctx;
    print_state(cli, s);
    return ferror(cli->out) == 0;
}

int verb_gpio_watch(tw_cli_t *cli)
{
    tw_pins_t pins = {.state = on_state, .ctx = cli};
    if (!tw_client_pins_watch(cli->c, &pins)) {
        return cli_fail_client(cli, "gpio");
    }
    while (!pins.sink.ended && tw_client_pump(cli->c, 1000)) {}
    const bool by_hand = cli_stopped(cli) || ferror(cli->out);
    const bool lost = pins.sink.ended && pins.sink.err.kind != TW_CLIENT_OK && pins.sink.err.kind != TW_CLIENT_STOPPED;
    tw_client_drop(cli->c, &pins.sink);
    return by_hand || !lost ? CLI_OK : cli_fail_client(cli, "gpio");
}
