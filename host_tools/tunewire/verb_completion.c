/* verb_completion.c - tunewire completion bash|zsh: the script for the shell. */
#include "host_tools/tunewire/cli.h"
#include "host_tools/tunewire/completion.h"

int verb_completion(tw_cli_t *cli)
{
    const bool bash = strcmp(cli->args[0], "bash") == 0;
    if (!bash && strcmp(cli->args[0], "zsh") != 0) {
        return cli_fail(cli, CLI_USAGE, cli->args[0], "bash or zsh", "no completion for this shell");
    }
    const uint8_t *text = bash ? tw_completion_bash : tw_completion_zsh;
    const uint32_t n = bash ? tw_completion_bash_bytes : tw_completion_zsh_bytes;
    if (cli->json) {
        return cli_json(cli, json_pack("{s:s, s:s%}", "shell", cli->args[0], "script", (const char *)text, (size_t)n));
    }
    return fwrite(text, 1, n, cli->out) == n ? CLI_OK : CLI_INPUT;
}
