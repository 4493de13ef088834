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

# CMSIS-DSP behind the same tables: CMSIS_DSP_DIR=<its sources>, or =pypi for those of the official source distribution.
ifdef CMSIS_DSP_DIR
CMSIS_DSP := $(if $(filter pypi,$(CMSIS_DSP_DIR)),build/src/cmsisdsp,$(CMSIS_DSP_DIR))
ifeq ($(CMSIS_DSP_DIR),pypi)
$(if $(wildcard $(CMSIS_DSP)),,$(info $(shell tools/cmsis_src.sh 2>&1)))
endif
$(if $(wildcard $(CMSIS_DSP)/Include/arm_math.h),,$(error CMSIS_DSP_DIR=$(CMSIS_DSP_DIR): no Include/arm_math.h there))
LIBS += cmsisdsp
CFLAGS_cmsis := -DTW_CMSIS_DSP=1
dsp.flags += -isystem $(CMSIS_DSP)/Include -D__GNUC_PYTHON__
cmsisdsp.src := $(patsubst %,$(CMSIS_DSP)/Source/%.c,FilteringFunctions/arm_biquad_cascade_df1_q15 \
	FilteringFunctions/arm_biquad_cascade_df1_f32 $(addprefix TransformFunctions/arm_,rfft_fast_f32 rfft_fast_init_f32 \
	cfft_f32 cfft_init_f32 cfft_radix8_f32 bitreversal2) CommonTables/arm_common_tables CommonTables/arm_const_structs)
cmsisdsp.flags := -D__GNUC_PYTHON__ -I$(CMSIS_DSP)/Include -I$(CMSIS_DSP)/PrivateInclude -w
cmsisdsp.free := 1
endif
