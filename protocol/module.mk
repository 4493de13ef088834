LIBS += protocol
protocol.src := $(wildcard protocol/*.c) $(GEN)/tunewire.pb.c $(GEN)/tw_schema.c \
	$(addprefix $(NANOPB)/,pb_common.c pb_encode.c pb_decode.c)
protocol.free := 1
GENERATED += $(GEN)/tunewire.pb.h $(GEN)/tunewire.pb.c $(GEN)/tw_schema.c

NANOPB_PLUGIN := /usr/lib/python3/dist-packages/proto
$(GEN)/tunewire.pb.c: $(GEN)/tunewire.pb.h ;
$(GEN)/tunewire.pb.h: protocol/tunewire.proto protocol/tunewire.options
	@mkdir -p $(GEN); echo "  PROTO $<"
	@cd protocol && protoc -I. -I$(NANOPB_PLUGIN) --nanopb_out=../$(GEN) tunewire.proto
# The device serves its own schema: the descriptor set, byte for byte what Session.Schema sends.
$(GEN)/tw_schema.c: protocol/tunewire.proto tools/embed.py
	@mkdir -p $(GEN)
	@cd protocol && protoc -I. --descriptor_set_out=../$(GEN)/tunewire.desc tunewire.proto
	@$(PYTHON) tools/embed.py $(GEN)/tunewire.desc tw_schema protocol/schema.h > $@
