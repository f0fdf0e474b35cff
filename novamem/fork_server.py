"""The process that `script/server` forks its units from, which `multiprocessing` starts: imported there alone."""

import os
import signal

from novamem import preload
from novamem.lifetime import tie_to

PID = os.getpid()
GROUP_SIGNALS = (signal.SIGTERM, signal.SIGHUP)  # which may come to all at once: the server ends its units by itself

for number in GROUP_SIGNALS:
    signal.signal(number, signal.SIG_IGN)
tie_to(os.getppid())  # it ends with the server, and what it forked with it
preload.load()
