# What python_embed runs: no imports, which would want libraries of the one libpython that is global.
def spin_NAME(n):
    x = 0
    for i in range(n):
        x += i
    return x


def inner_NAME(n):
    return spin_NAME(n)


def work_NAME():
    while True:
        inner_NAME(5000)


work_NAME()
