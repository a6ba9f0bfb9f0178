/* tests/doubles/libcresset-cuda.so.c: of the library that goes into programs (src/gpu/inject/) the probe alone: double_launch tells of a launch, while
 * somebody has attached. */
// build: -shared -fPIC -O2 -fcf-protection=none -Wl,-soname,libcresset-cuda.so
#include <stdint.h>

volatile uint16_t launch_semaphore __attribute__((section(".probes"), used, visibility("hidden")));

__attribute__((noinline)) static void probe(uint32_t correlation, uint32_t called, uint32_t weight)
{
	register uint32_t a __asm__("edi") = correlation, b __asm__("esi") = called,
			    c __asm__("edx") = weight;

	__asm__ volatile(
		"990: .byte 0x0f, 0x1f, 0x44, 0, 0\n"
		".pushsection .note.stapsdt, \"?\", \"note\"\n.balign 4\n"
		".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n"
		"993: .8byte 990b, _.stapsdt.base, launch_semaphore\n"
		".asciz \"cresset\"\n.asciz \"launch\"\n.asciz \"4@%%edi 4@%%esi 4@%%edx\"\n"
		"994: .balign 4\n.popsection\n"
		".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"
		".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"
		".size _.stapsdt.base, 1\n.popsection\n"
		:
		: "r"(a), "r"(b), "r"(c));
}

/* How many have attached. */
int double_launch(uint32_t correlation, uint32_t called, uint32_t weight);
int double_launch(uint32_t correlation, uint32_t called, uint32_t weight)
{
	if (launch_semaphore)
		probe(correlation, called, weight);
	return launch_semaphore;
}
