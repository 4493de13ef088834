LIBS += base hosted engine board
base.src := $(wildcard engine/base/*.c)
base.free := 1
hosted.src := $(wildcard engine/base/hosted/*.c)
engine.src := $(wildcard engine/*.c engine/arc/*.c engine/node/*.c engine/graph/*.c engine/script/*.c)
engine.free := 1
# The Linux back-ends and the manifest reader are hosted; a firmware has its own board.
board.src := $(wildcard engine/board/*.c)
