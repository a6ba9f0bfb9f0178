volatile unsigned long s;
__asm__(".text\n.globl asm_entry\n.type asm_entry,@function\nasm_entry:\n xor %eax,%eax\n ret\n");
__attribute__((noinline)) static void secret_hot(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		s += i * i;
}
__attribute__((noinline)) static void secret_driver(unsigned long n)
{
	secret_hot(n);
	s++;
}
void *tab[] = { (void *)secret_driver };
__attribute__((constructor)) static void reg(void)
{
	extern void (*hook)(unsigned long);
	hook = (void (*)(unsigned long))tab[0];
}
