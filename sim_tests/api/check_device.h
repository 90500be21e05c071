/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device API's facts (device.def) as static assertions, for nvcc and for the CPU's compiler:
 * include after the device headers. Each function exists with exactly those types, each call
 * without the arguments that have defaults compiles, and each template's defaults are the ones
 * named.
 */
#ifndef GDAKIT_API_CHECK_DEVICE_H
#define GDAKIT_API_CHECK_DEVICE_H

#include <type_traits>
#include <utility>

namespace gdakit_api
{

using QP = struct doca_gpu_dev_verbs_qp;
using CQ = struct doca_gpu_dev_verbs_cq;
using WQE = struct doca_gpu_dev_verbs_wqe;
using ADDR = struct doca_gpu_dev_verbs_addr;
using TICKET = doca_gpu_dev_verbs_ticket_t;
using FLAGS = enum doca_gpu_dev_verbs_wqe_ctrl_flags;

constexpr auto SHARED_BY_GPU = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU;
constexpr auto SYNC_GPU = DOCA_GPUNETIO_VERBS_SYNC_SCOPE_GPU;
constexpr auto AUTO = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO;
constexpr auto SQ = DOCA_GPUNETIO_VERBS_QP_SQ;
constexpr auto THREAD = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD;
constexpr auto ADD = DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD;
constexpr auto NO_MCST = DOCA_GPUNETIO_VERBS_MCST_DISABLED;
constexpr auto NO_BLOCK = DOCA_GPUNETIO_VERBS_BLOCKING_MODE_DISABLED;
constexpr auto READY_DEFAULT = DOCA_GPUNETIO_VERBS_READY_MODE_DEFAULT;
constexpr auto READY_CAS = DOCA_GPUNETIO_VERBS_READY_MODE_ATOMIC_CAS;
constexpr auto BYTES_4 = DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_4;

/* Pointer to the function that takes first the arguments of Required, then those of Optional. */
template <class Ret, class Required, class Optional>
struct pointer;
template <class Ret, class... R, class... O>
struct pointer<Ret, void(R...), void(O...)> {
	using type = Ret (*)(R..., O...);
};

#define API_STRIP(...) __VA_ARGS__
#define API_CAT_(a, b) a##b
#define API_CAT(a, b)  API_CAT_(a, b)

#define API_POINTER(ret, required, optional) pointer<ret, void required, void optional>::type

/* The short call, in a template because it needs the argument types one by one. */
#define API_CALL(ret, callee, required)                                                            \
	template <class Required>                                                                  \
	struct API_CAT(call_, __LINE__);                                                           \
	template <class... R>                                                                      \
	struct API_CAT(call_, __LINE__)<void(R...)> {                                              \
		using type = decltype(callee(std::declval<R>()...));                               \
	};                                                                                         \
	static_assert(std::is_same<API_CAT(call_, __LINE__) < void required>::type, ret > ::value, \
		      "return type of " #callee);

#define DEVICE_PLAIN(ret, name, required, optional)                                                \
	static_assert(std::is_pointer<decltype(static_cast<API_POINTER(ret, required, optional)>(  \
			      &name))>::value,                                                     \
		      #name);                                                                      \
	API_CALL(ret, name, required)

template <auto Function>
struct same_function;

#define DEVICE(ret, name, given, all, required, optional)                                          \
	static_assert(                                                                             \
		std::is_same<same_function<static_cast<API_POINTER(ret, required, optional)>(      \
				     &name<API_STRIP given>)>,                                     \
			     same_function<static_cast<API_POINTER(ret, required, optional)>(      \
				     &name<API_STRIP all>)>>::value,                               \
		"template arguments of " #name);                                                   \
	API_CALL(ret, name<API_STRIP given>, required)

#define DEVICE_STATUS(ret, name, given, all, required, optional)                                   \
	DEVICE(int, name, given, all, required, optional)
#define DEVICE_MORE DEVICE

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define SM90(what) what
#else
#define SM90(what)
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
#define SM100(what) what
#else
#define SM100(what)
#endif

#include "device.def"

} // namespace gdakit_api

#endif
