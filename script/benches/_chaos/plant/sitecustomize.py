"""Python loads this first in each process of a product that the bench starts: it lays in wait where Django is set up.

Nothing of it is part of the product, which knows neither the bench nor its variables.
"""

import os
from typing import Any

if "CHAOS_PLANTS" in os.environ:
    import django

    _set_up = django.setup

    def _set_up_and_plant(*given: Any, **more: Any) -> None:
        _set_up(*given, **more)
        import planted

        planted.install(os.environ["CHAOS_PLANTS"])

    django.setup = _set_up_and_plant
