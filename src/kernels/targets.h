// The instruction sets the kernels are compiled for: SSE4 (the baseline of the build), AVX2 with
// FMA, AVX-512. Every kernel source includes this before any Highway header, so that all agree.
#pragma once

// SSE4 without AES and carry-less products, which the baseline x86-64-v2 does not promise.
#define HWY_DISABLE_PCLMUL_AES

// For lambdas in code that is compiled per instruction set: that set, and always inlined, so that
// the vectors they capture stay in registers.
#define HW_INLINE_ATTR HWY_ATTR __attribute__((always_inline))
