"""What the application's login may do to accounts and records; old logins, seals of before, scopes to be examined."""

from django.conf import settings
from django.db import migrations, models

from memories.migrations._sql import sql_of

LOOKED_AT = (
    "auth_group",
    "auth_group_permissions",
    "auth_permission",
    "auth_user_groups",
    "auth_user_user_permissions",
    "django_content_type",
    "django_migrations",
    "pghistory_context",
)
# Partitions have no row-level security of their own: they are reached through their table alone.
PARTITIONS = """
    DO $$ DECLARE t regclass; BEGIN
        FOR t IN SELECT inhrelid::regclass FROM pg_inherits
                 WHERE inhparent IN ('memories_embedding'::regclass, 'memories_keywords'::regclass) LOOP
            EXECUTE format('{change} nova_app', t);
        END LOOP;
    END $$;
"""
# Who injects SQL reaches what a project's administrator does; the operator's powers need another login.
NARROW = f"""
    REVOKE INSERT, UPDATE, DELETE ON {", ".join(LOOKED_AT)} FROM nova_app;
    REVOKE UPDATE, DELETE ON auth_user, django_admin_log FROM nova_app;
    GRANT UPDATE (password, last_login) ON auth_user TO nova_app;
    {PARTITIONS.format(change="REVOKE ALL ON %s FROM")}

    CREATE FUNCTION nova_operators_are_the_owners() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF session_user = 'nova_app' THEN
            RAISE EXCEPTION 'an operator''s account is the owner''s of the database to change'
                USING ERRCODE = 'insufficient_privilege',
                HINT = 'createsuperuser and changepassword take --database owner; it needs DATABASE_OWNER_URL.';
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER operator_is_made BEFORE INSERT ON auth_user FOR EACH ROW
        WHEN (NEW.is_superuser) EXECUTE FUNCTION nova_operators_are_the_owners();
    CREATE TRIGGER operator_is_changed BEFORE UPDATE ON auth_user FOR EACH ROW
        WHEN (OLD.is_superuser AND OLD.password <> NEW.password) EXECUTE FUNCTION nova_operators_are_the_owners();
"""
WIDE = f"""
    DROP TRIGGER operator_is_changed ON auth_user;
    DROP TRIGGER operator_is_made ON auth_user;
    DROP FUNCTION nova_operators_are_the_owners();
    {PARTITIONS.format(change="GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO")}
    REVOKE UPDATE (password, last_login) ON auth_user FROM nova_app;
    GRANT UPDATE, DELETE ON auth_user, django_admin_log TO nova_app;
    GRANT INSERT, UPDATE, DELETE ON {", ".join(LOOKED_AT)} TO nova_app;
"""
# The app may not delete logins; by this it takes away old ones, and whoever injects SQL none of the last month.
FORGOTTEN_LOGINS = sql_of(__file__, "forgotten_logins")
# 0007 and 0009 gave these columns to events that were sealed without them: null, they do not count (audit.leaves).
SEALED_WITHOUT = """
    ALTER TABLE memories_grantevent DISABLE TRIGGER USER;
    UPDATE memories_grantevent e SET {column} = NULL
    FROM (SELECT s.project_id, max(s.upto::text::numeric) AS upto FROM memories_seal s, django_migrations m
          WHERE m.app = 'memories' AND m.name = '{migration}' AND s.sealed_at < m.applied GROUP BY s.project_id) s
    WHERE e.project_id = s.project_id AND e.recorded_in::text::numeric < s.upto;
    ALTER TABLE memories_grantevent ENABLE TRIGGER USER;
"""
LATE = {"users": "0007_users", "may_read_wide": "0009_may_read_wide"}
RESEALED = [SEALED_WITHOUT.format(column=column, migration=migration) for column, migration in LATE.items()]
DEFAULTS = """
    ALTER TABLE memories_grantevent DISABLE TRIGGER USER;
    UPDATE memories_grantevent SET users = coalesce(users, 'optional'), may_read_wide = coalesce(may_read_wide, false);
    ALTER TABLE memories_grantevent ENABLE TRIGGER USER;
"""


class Migration(migrations.Migration):
    """Rights, a function and two columns."""

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("admin", "0003_logentry_add_action_flag_choices"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("pghistory", "0007_auto_20250421_0444"),
        ("memories", "0019_forged_rows_and_folded_texts"),
    ]

    operations = [
        migrations.RunSQL(NARROW, WIDE),
        migrations.RunSQL(FORGOTTEN_LOGINS, "DROP FUNCTION nova_forget_logins;"),
        migrations.AlterField(
            "grantevent",
            "users",
            models.CharField(
                choices=[("required", "Required"), ("optional", "Optional"), ("none", "None")],
                default="optional",
                max_length=16,
                null=True,
            ),
        ),
        migrations.AlterField("grantevent", "may_read_wide", models.BooleanField(default=False, null=True)),
        migrations.RunSQL(RESEALED, DEFAULTS),
        migrations.AddField("connected", "unexamined", models.BooleanField(default=True)),
    ]
