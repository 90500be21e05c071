/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host API's facts as static assertions: include after the public headers, once per language. A
 * failing line means a broken interface, never a reason to edit the facts. Two things are
 * GPUNetIO's and not here: its private copy of the firmware layouts (host/mlx5_ifc.h, the MLX5_*
 * accessors and the two mlx5_ifc_* structs), and the names of reserved bytes that carry state of
 * ours.
 */
#ifndef GDAKIT_API_CHECK_H
#define GDAKIT_API_CHECK_H

#include <limits.h>
#include <stddef.h>

#ifdef __cplusplus
#include <type_traits>
#define API_ASSERT(x)		  static_assert(x, #x)
#define API_ALIGNOF(type)	  alignof(type)
#define API_SAME(name, ret, args) std::is_same<decltype(name), ret args>::value
#define API_ENUM(type, name)	  std::is_same<decltype(name), enum type>::value
#else
#define API_ASSERT(x)		  _Static_assert(x, #x)
#define API_ALIGNOF(type)	  _Alignof(type)
#define API_SAME(name, ret, args) __builtin_types_compatible_p(__typeof__(name), ret args)
#define API_ENUM(type, name)	  (sizeof(enum type) == sizeof(int)) /* C's constants are int */
#endif

#define FUNCTION(ret, name, args) API_ASSERT(API_SAME(name, ret, args));
#include "functions.def"
#undef FUNCTION

#define ENUM(type, name, value)                                                                    \
	API_ASSERT((name) == (value));                                                             \
	API_ASSERT(API_ENUM(type, name));
#define VALUE(name, value) API_ASSERT((unsigned int)(name) == (value));
#define MACRO(name, value) API_ASSERT((name) == (value));
#include "numbers.def"
#undef ENUM
#undef VALUE
#undef MACRO

#define STRUCT(type, size, align)                                                                  \
	API_ASSERT(sizeof(type) == (size));                                                        \
	API_ASSERT(API_ALIGNOF(type) == (align));
#define FIELD(type, member, offset, size)                                                          \
	API_ASSERT(offsetof(type, member) == (offset));                                            \
	API_ASSERT(sizeof(((type *)0)->member) == (size));
#include "layout.def"
#undef STRUCT
#undef FIELD

API_ASSERT(sizeof(doca_gpu_dev_verbs_ticket_t) == 8);
API_ASSERT(sizeof(doca_gpu_verbs_service_t) == sizeof(void *));

#endif
