/* schema.h - the protocol's own description, served by Session.Schema.
 * Generated at build time from tunewire.proto. */
#pragma once
#include <stdint.h>

/** Serialized google.protobuf.FileDescriptorSet; its CRC-32C is HelloRep.schema_crc. */
extern const uint8_t tw_schema[];
extern const uint32_t tw_schema_bytes;
