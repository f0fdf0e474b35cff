"""Tokens of keys, seats of streams and uploads, logins."""

import uuid

import django.utils.timezone
from django.db import migrations, models

from memories.migrations._sql import sql_of

# Tokens and seats change with each request and mean nothing after a crash. A token's row is rewritten in its own page.
UNLOGGED = """
    ALTER TABLE memories_ratebudget SET UNLOGGED, SET (fillfactor = 50);
    ALTER TABLE memories_seat SET UNLOGGED;
"""
LOGGED = """
    ALTER TABLE memories_ratebudget SET LOGGED, RESET (fillfactor);
    ALTER TABLE memories_seat SET LOGGED;
"""
# A try to log in begins as a failure and may become a success; nothing else of it changes, and it stays.
KEPT = sql_of(__file__, "kept")
UNKEPT = """
    DROP TRIGGER login_succeeds ON memories_loginevent;
    DROP FUNCTION nova_login_succeeds();
    REVOKE UPDATE (outcome) ON memories_loginevent FROM nova_app;
    GRANT UPDATE, DELETE ON memories_loginevent TO nova_app;
"""
OUTCOMES = ("failure", "success", "locked", "factor_added", "factor_removed", "recovered")


class Migration(migrations.Migration):
    """Three tables."""

    dependencies = [("memories", "0017_who_operates")]

    operations = [
        migrations.CreateModel(
            name="RateBudget",
            fields=[
                ("key_id", models.UUIDField(primary_key=True, serialize=False)),
                ("tokens", models.FloatField()),
                ("wait", models.FloatField()),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Seat",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=16)),
                ("holder", models.CharField(max_length=64)),
                ("until", models.DateTimeField()),
            ],
            options={"indexes": [models.Index(fields=["kind", "holder"], name="seat_holder")]},
        ),
        migrations.CreateModel(
            name="LoginEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                ("user_id", models.IntegerField(null=True)),
                ("name", models.BinaryField(max_length=16)),
                ("address", models.BinaryField(max_length=16)),
                (
                    "outcome",
                    models.CharField(choices=[(one, one.replace("_", " ").title()) for one in OUTCOMES], max_length=16),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["name", "at"], name="login_event_name"),
                    models.Index(fields=["address", "at"], name="login_event_address"),
                ],
                "constraints": [
                    models.CheckConstraint(condition=models.Q(outcome__in=list(OUTCOMES)), name="login_event_outcome")
                ],
            },
        ),
        migrations.RunSQL(UNLOGGED, LOGGED),
        migrations.RunSQL(KEPT, UNKEPT),
    ]
