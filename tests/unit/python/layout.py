# For gdb: where the structures of the CPython at hand have their fields, in the words of struct cpython_layout.
import gdb


def field(type_name, path):
    kind, at = gdb.lookup_type(type_name), 0
    for name in path.split("."):
        found = [f for f in kind.strip_typedefs().fields() if f.name == name]
        if not found:
            raise LookupError
        at, kind = at + found[0].bitpos // 8, found[0].type
    return at


def say(name, *places):
    for type_name, path in places:
        try:
            print("%s %d" % (name, field(type_name, path)))
            return
        except (LookupError, gdb.error):
            pass


FRAME, OBJECT, CODE = "_PyInterpreterFrame", "PyFrameObject", "PyCodeObject"
say("head", ("_PyRuntimeState", "interpreters.head"))
say("interp_next", ("PyInterpreterState", "next"))
say("interp_threads", ("PyInterpreterState", "threads.head"), ("PyInterpreterState", "tstate_head"))
say("thread_next", ("PyThreadState", "next"))
say("thread_interp", ("PyThreadState", "interp"))
say("thread_id", ("PyThreadState", "thread_id"))
try:
    field(FRAME, "previous")
    say("thread_frame", ("PyThreadState", "current_frame"), ("PyThreadState", "cframe"))
    say("cframe_frame", ("_PyCFrame", "current_frame"))
    say("cframe_previous", ("_PyCFrame", "previous"))
    say("frame_owner", (FRAME, "owner"))
    say("frame_entry", (FRAME, "is_entry"), (FRAME, "owner"))
    say("frame_bytes", (FRAME, "localsplus"))
    say("code_first_traced", (CODE, "_co_firsttraceable"))
except (LookupError, gdb.error):
    say("thread_frame", ("PyThreadState", "frame"))
say("frame_previous", (FRAME, "previous"), (OBJECT, "f_back"))
say("frame_code", (FRAME, "f_executable"), (FRAME, "f_code"), (OBJECT, "f_code"))
say("frame_instr", (FRAME, "instr_ptr"), (FRAME, "prev_instr"), (OBJECT, "f_lasti"))
say("code_instr", (CODE, "co_code_adaptive"))
say("code_first_line", (CODE, "co_firstlineno"))
say("code_name", (CODE, "co_name"))
say("code_qualname", (CODE, "co_qualname"))
say("code_file", (CODE, "co_filename"))
say("code_lines", (CODE, "co_linetable"), (CODE, "co_lnotab"))
say("bytes_size", ("PyBytesObject", "ob_base.ob_size"))
say("bytes_data", ("PyBytesObject", "ob_sval"))
say("str_length", ("PyASCIIObject", "length"))
say("str_state", ("PyASCIIObject", "state"))
print("str_ascii %d" % gdb.lookup_type("PyASCIIObject").sizeof)
print("str_compact %d" % gdb.lookup_type("PyCompactUnicodeObject").sizeof)
say("type", ("PyObject", "ob_type"))
try:
    value = gdb.parse_and_eval("(int) FRAME_OWNED_BY_CSTACK")
    print("entry_from %d" % int(value))
except gdb.error:
    pass
