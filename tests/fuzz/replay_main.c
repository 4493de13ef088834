/* Feed every file of the given folders to a fuzz target, under whatever compiler built it. An input that takes
 * INPUT_S seconds ends the program, as it does in a search. */
#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INPUT_S 20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned files;
static const char *now;

static void too_long(int signal)
{
    (void)signal;
    (void)write(STDERR_FILENO, now, strlen(now));
    (void)write(STDERR_FILENO, ": no end\n", 9);
    _exit(1);
}

static void one(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        perror(path);
        exit(1);
    }
    static uint8_t buf[1 << 20];
    const size_t n = fread(buf, 1, sizeof buf, f);
    fclose(f);
    /* an exact copy, so that a read past the end is seen */
    uint8_t *copy = malloc(n ? n : 1);
    for (size_t i = 0; i < n; i++) {
        copy[i] = buf[i];
    }
    now = path;
    (void)alarm(INPUT_S);
    LLVMFuzzerTestOneInput(copy, n);
    (void)alarm(0);
    free(copy);
    files++;
}

int main(int argc, char **argv)
{
    (void)signal(SIGALRM, too_long);
    for (int i = 1; i < argc; i++) {
        DIR *d = opendir(argv[i]);
        struct dirent *e;
        while (d != NULL && (e = readdir(d)) != NULL) {
            char path[1024];
            struct stat st;
            snprintf(path, sizeof path, "%s/%s", argv[i], e->d_name);
            if (stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
                one(path);
            }
        }
        if (d != NULL) {
            closedir(d);
        }
    }
    printf("replayed %u inputs\n", files);
    return files == 0;
}
