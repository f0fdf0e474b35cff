"""A new password by mail is noted beside the logins."""

from django.db import migrations, models

OUTCOMES = ("failure", "success", "locked", "factor_added", "factor_removed", "recovered", "password_reset")


class Migration(migrations.Migration):
    """Another word of a closed vocabulary."""

    dependencies = [("memories", "0032_workload")]

    operations = [
        migrations.AlterField(
            model_name="loginevent",
            name="outcome",
            field=models.CharField(choices=[(one, one.replace("_", " ").title()) for one in OUTCOMES], max_length=16),
        ),
        migrations.RemoveConstraint(model_name="loginevent", name="login_event_outcome"),
        migrations.AddConstraint(
            model_name="loginevent",
            constraint=models.CheckConstraint(
                condition=models.Q(outcome__in=list(OUTCOMES)), name="login_event_outcome"
            ),
        ),
        # What the former release has no word for goes with it.
        migrations.RunSQL(migrations.RunSQL.noop, "DELETE FROM memories_loginevent WHERE outcome = 'password_reset'"),
    ]
