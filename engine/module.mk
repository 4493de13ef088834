LIBS += base hosted engine board dsp kissfft speexdsp
base.src := $(wildcard engine/base/*.c)
base.free := 1
hosted.src := $(wildcard engine/base/hosted/*.c)
engine.src := $(wildcard engine/*.c engine/arc/*.c engine/node/*.c engine/graph/*.c engine/script/*.c \
	engine/compat/*.c)
engine.free := 1
# The Linux back-ends and the manifest reader are hosted; a firmware has its own board.
board.src := $(wildcard engine/board/*.c)
# Signal processing that knows no nodes, and the two libraries below it. These are compiled as they come, freestanding,
# with our math.h (engine/dsp/shim), our allocator and our transforms.
DSP_SHIM := -Iengine/dsp/shim -isystem $(KISSFFT) -isystem $(SPEEXDSP)/include
dsp.src := $(wildcard engine/dsp/*.c)
dsp.flags := $(DSP_SHIM)
dsp.free := 1
kissfft.src := $(addprefix $(KISSFFT)/,kiss_fft.c kiss_fftr.c)
kissfft.flags := $(DSP_SHIM) -include engine/dsp/shim/kissfft_config.h -w
kissfft.free := 1
speexdsp.src := $(addprefix $(SPEEXDSP)/libspeexdsp/,preprocess.c filterbank.c)
speexdsp.flags := $(DSP_SHIM) -DFLOATING_POINT -DUSE_KISS_FFT -DEXPORT= -DOS_SUPPORT_CUSTOM -w
speexdsp.free := 1

# Kernels whose loops are written for vector units: -O2 alone leaves them scalar. No sum changes its order.
ifeq ($(PROFILE),host)
$(patsubst %,$(B)/obj/engine/node/%.o,convert resample signal wave): CFLAGS_host += -O3
endif
