#!/usr/bin/env python
"""Runs a management command. Use it through script/manage, which brings the environment and the database."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "novamem.settings")
    from django.core.management import execute_from_command_line

    from novamem.config import take_options

    execute_from_command_line(take_options(sys.argv))
