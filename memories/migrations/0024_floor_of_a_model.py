"""Each embedding model keeps its floor: the cosine that unrelated texts hardly reach under it."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """One column; null until the model is calibrated."""

    dependencies: ClassVar = [("memories", "0023_erasures_bar_procedures")]

    operations: ClassVar = [migrations.AddField("embeddingmodel", "floor", models.FloatField(null=True))]
