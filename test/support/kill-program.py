# Runs a Python program, and kills it before or after its request of this number.
import os, runpy, signal, sys, urllib.request

number, moment, program, *arguments = sys.argv[1:]
real, count = urllib.request.urlopen, 0


def counted(*args, **kwargs):
    global count
    count += 1
    is_due = count == int(number)
    if is_due and moment == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    answer = real(*args, **kwargs)
    if is_due:
        os.kill(os.getpid(), signal.SIGKILL)
    return answer


urllib.request.urlopen = counted
sys.argv = [program, *arguments]
runpy.run_path(program, run_name="__main__")
