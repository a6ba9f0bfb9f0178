/* gpu/inject/launch_probe.h: the statically defined probe cresset:launch(correlation, cbid, weight), in the format of
 * SystemTap's <sys/sdt.h> (https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation): a note that says
 * where the probe, its semaphore and its arguments are. The place is five bytes of no operation, not one: kernels
 * from 6.18 on then make a call of it instead of a trap. */
#ifndef CRESSET_GPU_INJECT_LAUNCH_PROBE_H
#define CRESSET_GPU_INJECT_LAUNCH_PROBE_H

#include <stdint.h>

/* Not 0: somebody has attached. */
extern volatile uint16_t launch_semaphore __attribute__((visibility("hidden")));

#define LAUNCH_PROBE_SEMAPHORE \
	__extension__ volatile uint16_t launch_semaphore __attribute__((section(".probes"), used))

#if defined(__x86_64__)
#define LAUNCH_PROBE_NOP  ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00"
#define LAUNCH_PROBE_ARGS "4@%%edi 4@%%esi 4@%%edx"
#define LAUNCH_PROBE_REGS(a, b, c) \
	register uint32_t a_ __asm__("edi") = (a), b_ __asm__("esi") = (b), c_ __asm__("edx") = (c)
#elif defined(__aarch64__)
#define LAUNCH_PROBE_NOP  "nop"
#define LAUNCH_PROBE_ARGS "4@x0 4@x1 4@x2"
#define LAUNCH_PROBE_REGS(a, b, c) \
	register uint32_t a_ __asm__("w0") = (a), b_ __asm__("w1") = (b), c_ __asm__("w2") = (c)
#endif

static inline void launch_probe(uint32_t correlation, uint32_t cbid, uint32_t weight)
{
	LAUNCH_PROBE_REGS(correlation, cbid, weight);
	__asm__ volatile("990: " LAUNCH_PROBE_NOP "\n"
			 ".pushsection .note.stapsdt, \"?\", \"note\"\n"
			 ".balign 4\n"
			 ".4byte 992f-991f, 994f-993f, 3\n"
			 "991: .asciz \"stapsdt\"\n"
			 "992: .balign 4\n"
			 "993: .8byte 990b, _.stapsdt.base, launch_semaphore\n"
			 ".asciz \"cresset\"\n"
			 ".asciz \"launch\"\n"
			 ".asciz \"" LAUNCH_PROBE_ARGS "\"\n"
			 "994: .balign 4\n"
			 ".popsection\n"
			 ".ifndef _.stapsdt.base\n"
			 ".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"
			 ".weak _.stapsdt.base\n"
			 ".hidden _.stapsdt.base\n"
			 "_.stapsdt.base: .space 1\n"
			 ".size _.stapsdt.base, 1\n"
			 ".popsection\n"
			 ".endif\n"
			 :
			 : "r"(a_), "r"(b_), "r"(c_));
}

#endif
