/* kissfft_config.h - kissfft without an allocator: plans lie in memory of the caller (fft.c sees to it), so what would
 * allocate answers "no memory" and what would free has nothing to do. Included ahead of each of its sources. */
#pragma once
#define NDEBUG /* its messages go to stderr */
#define KISS_FFT_MALLOC(bytes) ((void)(bytes), (void *)0)
#define KISS_FFT_FREE(at) ((void)(at))
