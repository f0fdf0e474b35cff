"""The process that `script/server` forks its units from, which `multiprocessing` starts: imported there alone."""

import os

from novamem import preload
from novamem.lifetime import tie_to

PID = os.getpid()
tie_to(os.getppid())  # it ends with the server, and what it forked with it
preload.load()
