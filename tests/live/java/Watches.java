// An agent that is loaded into a running program: its transformer changes the set of JVMTI events that are on.
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;

public class Watches implements ClassFileTransformer {
	public static void agentmain(String arguments, Instrumentation instrumentation) {
		instrumentation.addTransformer(new Watches());
	}

	@Override
	public byte[] transform(ClassLoader loader, String name, Class<?> of, ProtectionDomain domain, byte[] bytes) {
		return null;
	}
}
