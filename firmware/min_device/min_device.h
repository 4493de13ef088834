/* min_device.h - the smallest device: what its start-up, its board and its main program share.
 *
 * The same min_main.c runs on the host, where min_host.c takes the place of start-up and semihosting: both must
 * print the same checksum of what came out.
 */
#pragma once
#include <stdint.h>

#define MIN_STACK_COLOUR 0xC5C5C5C5u

/** The graph image and the signal, as they lie in flash. */
extern const uint8_t min_image[];
extern const uint32_t min_image_bytes;
extern const int16_t min_signal[];
extern const uint32_t min_signal_samples;

/** Load the graph, run the signal through it twice, print the figures. @return exit status, 0 = all well */
int min_main(void);

/** Bytes of stack ever used, from its top; 0 where that cannot be measured. */
uint32_t min_stack_used(void);
/** Bytes of .data and .bss. */
uint32_t min_static_ram(void);
/** To the debugger, or standard output. */
void min_print(const char *text);
_Noreturn void min_exit(int status);
