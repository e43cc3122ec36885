/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compiler.h - attributes that the whole tree uses, under short names.
 */
#ifndef BFS_BASE_COMPILER_H
#define BFS_BASE_COMPILER_H

#define BFS_MUST_CHECK __attribute__((warn_unused_result))
#define BFS_CLEANUP(fn) __attribute__((cleanup(fn)))
#define BFS_TARGET(isa) __attribute__((target(isa)))
#define BFS_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define BFS_LIKELY(x) __builtin_expect(!!(x), 1)
#define BFS_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define BFS_UNUSED __attribute__((unused))
#define BFS_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#if defined(__x86_64__) || defined(__i386__)
#define BFS_X86 1
#endif
#if defined(__aarch64__)
#define BFS_ARM64 1
#endif
/* There is vector code for this architecture. */
#if defined(BFS_X86) || defined(BFS_ARM64)
#define BFS_VECTORS 1
#endif

/* For parts of vector kernels that take constants. */
#define BFS_SIMD_INLINE static inline __attribute__((always_inline))
/* In front of loops over the vectors of one step: there are at most 16. */
#ifdef __clang__
#define BFS_UNROLL _Pragma("clang loop unroll(full)")
#else
#define BFS_UNROLL _Pragma("GCC unroll 16")
#endif

#endif
