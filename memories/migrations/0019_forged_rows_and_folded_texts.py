"""Forged rows can be told by their history: digests of words, what keys may do, what became of accounts.

And what was forgotten is known again in another guise: fingerprints of texts folded as `nova_folded` does.
"""

import django.contrib.postgres.fields
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models

import memories.models.tenant
from memories.migrations._promises import digested, history_by_triggers, in_module, undo_digested
from memories.migrations._sql import sql_of

DIGESTED = {
    "memories_claim": ("id", "subject", "predicate", "value", "session_id"),
    "memories_namespace": ("id", "name", '"user"'),
    "memories_grant": ("id", "user_patterns", "upstream_paths"),
    "memories_erasure": ("id", "fingerprint"),
}

# Of a fragment everything that its event does not hold, its text as it is written too.
FORMER = """f.agent_id, f.category, f.source_id, f.source_ids, f.workflow_id, f.conversation_id, f.tags, f.entities,
            f.topics, f.extra, f.provenance_source_id, f.archived_reason"""
FRAGMENT = """
    CREATE OR REPLACE FUNCTION {name}(salt bytea, f memories_fragment) RETURNS bytea LANGUAGE sql STABLE
        RETURN sha256(salt || convert_to(jsonb_build_array({columns})::text, 'UTF8') || salt);
"""
DETAILS = [
    FRAGMENT.format(name="nova_details_digest", columns=f"{FORMER}, f.content, f.key, f.parents, f.roots"),
    # What the events of before hold, and go on holding: a sealed event never changes.
    FRAGMENT.format(name="nova_former_details_digest", columns=FORMER),
]
UNDO_DETAILS = [
    FRAGMENT.format(name="nova_details_digest", columns=FORMER),
    "DROP FUNCTION nova_former_details_digest;",
]

ACCOUNTS = sql_of(__file__, "accounts")
# Letters that look like an ASCII letter, as conflicts.lookalikes had them when this was written: digests depend on it.
LOOKALIKES = {
    "a": "ɑᴀαаᎪᗅꓮ𖽀𐊠",
    "b": "ƅʙꞵβвᏴᑲᗷꓐ𐊂𐊡𐌁",
    "c": "ᴄсᏟꓚⲥ𐐽𐔜𐊢𐌂",
    "d": "ᴅԁᎠᑯᗞꓓ",
    "e": "ᴇꬲεеҽᎬꓰ𑣆𑣎ⴹ𐊆",
    "f": "ꜰꬵꞙƒϝքᖴꓝ𑣂𐔥𐊇𐊥",
    "g": "ɡɢᶃԍցᏀꓖ",
    "h": "ʜηнһհᎻᕼꓧⲏ𐋏",
    "i": "ıɪɩιіᎥꓲⲓ𑣃",
    "j": "ᴊʝϳјյᎫᒍꓙ",
    "k": "ᴋκкᏦꓗⲕ𐔘ᛕ",
    "l": "ǀʟӏᏞᒪꓡⳑ𐑃𑣒ⵏ𖼨𖼖𐔦𐊊𐌉ᛁ",
    "m": "ᴍμмᎷᗰꓟⲙ𐊰𐌑ᛖ",
    "n": "ɴνոꓠⲛ𐔓",
    "o": "ᴏᴑꬽοоօჿꓳⲟ𐐬𐓪𑣈𑣗𑣕ⵔ𐔖𐊒𐊫",
    "p": "ᴘρрᏢᑭꓑⲣ𐊕",
    "q": "ԛզⵕ",
    "r": "ʀꭇꭈгᎡᖇꓣⲅ𐓜𖼵",
    "s": "ꜱƽѕտᏚꓢ𐑈𑣁𖼺𐊖",
    "t": "ᴛτтᎢꓔⲧ𑣜𖼊𐊗𐊱𐌕",
    "u": "ᴜʋꞟꭎꭒυսᑌꓴ𐓶𑣘𖽂",
    "v": "ᴠѵᏙᐯꓦ𑣀ⴸ𖼈𐔝𑜆ꛟ",
    "w": "ᴡɯωԝѡաᎳꓪ𑜊𑜎𑜏",
    "x": "ꭓχхᕽꓫⲭⵝ𐔧𐊐𐊴𐌗ᚷ",
    "y": "ʏɣᶌỿꭚγуүყᎽꓬⲩ𑣄𖽃𐊲",
    "z": "ᴢζᏃꓜ𑣉",
}
FOLDED = sql_of(__file__, "folded").format(
    lookalikes="".join(LOOKALIKES.values()),
    letters="".join(letter * len(alike) for letter, alike in LOOKALIKES.items()),
)
BARRED_EXACTLY = in_module("0010_erasure_scopes").SCOPED
ANY_ERASURE = "EXISTS (SELECT FROM memories_erasure a WHERE a.project_id = NEW.project_id)"
BARRED_IN_ANY_GUISE = BARRED_EXACTLY.replace(
    "e.fingerprint = NEW.fingerprint", "e.fingerprint = ANY (nova_fingerprints(NEW.project_id, NEW.content))"
).replace("IF EXISTS (SELECT FROM memories_erasure e", f"IF {ANY_ERASURE} AND EXISTS (SELECT FROM memories_erasure e")
UNDO_FOLDED = """
    DROP FUNCTION nova_erasure_print, nova_fingerprints, nova_folded;
"""
UNDO_ACCOUNTS = """
    DROP TRIGGER account_event_changed ON auth_user;
    DROP TRIGGER account_event_made ON auth_user;
    DROP FUNCTION nova_account_event, nova_credentials_digest;
"""


class Migration(migrations.Migration):
    """Columns and triggers of history."""

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("memories", "0018_limits"),
    ]

    operations = [
        migrations.RunSQL(migrations.RunSQL.noop, history_by_triggers("memories")),
        migrations.CreateModel(
            name="AccountEvent",
            fields=[
                ("pgh_id", models.BigAutoField(primary_key=True, serialize=False)),
                ("pgh_created_at", models.DateTimeField()),
                ("pgh_label", models.CharField(max_length=16)),
                ("pgh_obj_id", models.IntegerField()),
                ("pgh_context", models.JSONField(null=True)),
                ("is_superuser", models.BooleanField()),
                ("is_staff", models.BooleanField()),
                ("is_active", models.BooleanField()),
                ("credentials_changed", models.BooleanField()),
                ("credentials_digest", models.BinaryField(max_length=32)),
                (
                    "recorded_in",
                    memories.models.tenant.Xid8Field(db_default=memories.models.tenant.Current(), editable=False),
                ),
            ],
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="apikey",
            name="insert_insert",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="apikey",
            name="update_update",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="apikey",
            name="delete_delete",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="claim",
            name="update_update",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="erasure",
            name="update_update",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="grant",
            name="insert_insert",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="grant",
            name="update_update",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="grant",
            name="delete_delete",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="namespace",
            name="update_update",
        ),
        migrations.AddField(
            model_name="apikeyevent",
            name="digest",
            field=models.BinaryField(max_length=32, null=True),
        ),
        migrations.AddField(
            model_name="apikeyevent",
            name="key_id",
            field=models.CharField(db_index=True, max_length=10, null=True),
        ),
        migrations.AddField(
            model_name="claimevent",
            name="details_digest",
            field=models.BinaryField(max_length=32, null=True),
        ),
        migrations.AddField(
            model_name="erasureevent",
            name="details_digest",
            field=models.BinaryField(max_length=32, null=True),
        ),
        migrations.AddField(
            model_name="grantevent",
            name="details_digest",
            field=models.BinaryField(max_length=32, null=True),
        ),
        migrations.AddField(
            model_name="grantevent",
            name="namespaces",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=130), null=True, size=None
            ),
        ),
        migrations.AddField(
            model_name="grantevent",
            name="verbs",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(
                    choices=[("read", "Read"), ("write", "Write"), ("review", "Review"), ("admin", "Admin")],
                    max_length=16,
                ),
                null=True,
                size=None,
            ),
        ),
        migrations.AddField(
            model_name="namespaceevent",
            name="details_digest",
            field=models.BinaryField(max_length=32, null=True),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="apikey",
            trigger=pgtrigger.compiler.Trigger(
                name="insert_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_apikeyevent" ("created_at", "digest", "expires_at", "grant_id", "id", "key_id", "owner_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "revoked_at", "rotated_from_id") SELECT new_values."created_at", new_values."digest", new_values."expires_at", new_values."grant_id", new_values."id", new_values."key_id", new_values."owner_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'insert\', new_values."id", new_values."project_id", new_values."revoked_at", new_values."rotated_from_id" FROM ( SELECT new_values.* FROM new_values  ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="b6ffe6bd89056843030d26b7a1fced89d4a2030b",
                    level="STATEMENT",
                    operation="INSERT",
                    pgid="pgtrigger_insert_insert_90c31",
                    referencing="REFERENCING NEW TABLE AS new_values ",
                    table="memories_apikey",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="apikey",
            trigger=pgtrigger.compiler.Trigger(
                name="update_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_apikeyevent" ("created_at", "digest", "expires_at", "grant_id", "id", "key_id", "owner_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "revoked_at", "rotated_from_id") SELECT new_values."created_at", new_values."digest", new_values."expires_at", new_values."grant_id", new_values."id", new_values."key_id", new_values."owner_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', new_values."id", new_values."project_id", new_values."revoked_at", new_values."rotated_from_id" FROM ( SELECT new_values.* FROM old_values JOIN new_values ON (old_values."id") = (new_values."id") WHERE (old_values."created_at" IS DISTINCT FROM (new_values."created_at") OR old_values."digest" IS DISTINCT FROM (new_values."digest") OR old_values."expires_at" IS DISTINCT FROM (new_values."expires_at") OR old_values."grant_id" IS DISTINCT FROM (new_values."grant_id") OR old_values."id" IS DISTINCT FROM (new_values."id") OR old_values."key_id" IS DISTINCT FROM (new_values."key_id") OR old_values."owner_id" IS DISTINCT FROM (new_values."owner_id") OR old_values."project_id" IS DISTINCT FROM (new_values."project_id") OR old_values."revoked_at" IS DISTINCT FROM (new_values."revoked_at") OR old_values."rotated_from_id" IS DISTINCT FROM (new_values."rotated_from_id")) ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="8abfee3fac7ccebea0e68aa438b93f72200ad2e9",
                    level="STATEMENT",
                    operation="UPDATE",
                    pgid="pgtrigger_update_update_c7325",
                    referencing="REFERENCING OLD TABLE AS old_values  NEW TABLE AS new_values ",
                    table="memories_apikey",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="apikey",
            trigger=pgtrigger.compiler.Trigger(
                name="delete_delete",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_apikeyevent" ("created_at", "digest", "expires_at", "grant_id", "id", "key_id", "owner_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "revoked_at", "rotated_from_id") SELECT old_values."created_at", old_values."digest", old_values."expires_at", old_values."grant_id", old_values."id", old_values."key_id", old_values."owner_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'delete\', old_values."id", old_values."project_id", old_values."revoked_at", old_values."rotated_from_id" FROM ( SELECT old_values.* FROM old_values  ) AS old_values, _pgh_attached_context; RETURN NULL;',
                    hash="bb71e04ad6bd22e6ffae9ad8b11b334f83de453e",
                    level="STATEMENT",
                    operation="DELETE",
                    pgid="pgtrigger_delete_delete_39804",
                    referencing="REFERENCING OLD TABLE AS old_values ",
                    table="memories_apikey",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="claim",
            trigger=pgtrigger.compiler.Trigger(
                name="update_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_claimevent" ("authority", "exclusive", "fragment_id", "key_digest", "namespace_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "predicate_digest", "project_id", "scope", "slot", "status", "subject_digest", "valid_from", "valid_until", "value_digest") SELECT new_values."authority", new_values."exclusive", new_values."fragment_id", new_values."key_digest", new_values."namespace_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', new_values."id", new_values."predicate_digest", new_values."project_id", new_values."scope", new_values."slot", new_values."status", new_values."subject_digest", new_values."valid_from", new_values."valid_until", new_values."value_digest" FROM ( SELECT new_values.* FROM old_values JOIN new_values ON (old_values."id") = (new_values."id") WHERE (old_values."authority" IS DISTINCT FROM (new_values."authority") OR old_values."exclusive" IS DISTINCT FROM (new_values."exclusive") OR old_values."fragment_id" IS DISTINCT FROM (new_values."fragment_id") OR old_values."key_digest" IS DISTINCT FROM (new_values."key_digest") OR old_values."namespace_id" IS DISTINCT FROM (new_values."namespace_id") OR old_values."predicate" IS DISTINCT FROM (new_values."predicate") OR old_values."predicate_digest" IS DISTINCT FROM (new_values."predicate_digest") OR old_values."project_id" IS DISTINCT FROM (new_values."project_id") OR old_values."scope" IS DISTINCT FROM (new_values."scope") OR old_values."session_id" IS DISTINCT FROM (new_values."session_id") OR old_values."slot" IS DISTINCT FROM (new_values."slot") OR old_values."status" IS DISTINCT FROM (new_values."status") OR old_values."subject" IS DISTINCT FROM (new_values."subject") OR old_values."subject_digest" IS DISTINCT FROM (new_values."subject_digest") OR old_values."valid_from" IS DISTINCT FROM (new_values."valid_from") OR old_values."valid_until" IS DISTINCT FROM (new_values."valid_until") OR old_values."value" IS DISTINCT FROM (new_values."value") OR old_values."value_digest" IS DISTINCT FROM (new_values."value_digest")) ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="d7112eedb2171ea186d3afbddeac364960785d38",
                    level="STATEMENT",
                    operation="UPDATE",
                    pgid="pgtrigger_update_update_cf593",
                    referencing="REFERENCING OLD TABLE AS old_values  NEW TABLE AS new_values ",
                    table="memories_claim",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="erasure",
            trigger=pgtrigger.compiler.Trigger(
                name="update_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_erasureevent" ("authority", "erased_at", "fragment_id", "id", "namespace_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id") SELECT new_values."authority", new_values."erased_at", new_values."fragment_id", new_values."id", new_values."namespace_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', new_values."id", new_values."project_id" FROM ( SELECT new_values.* FROM old_values JOIN new_values ON (old_values."id") = (new_values."id") WHERE (old_values.* IS DISTINCT FROM new_values.*) ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="04dd95849732b201cf5c518c9b306147ac9ba2a2",
                    level="STATEMENT",
                    operation="UPDATE",
                    pgid="pgtrigger_update_update_611ed",
                    referencing="REFERENCING OLD TABLE AS old_values  NEW TABLE AS new_values ",
                    table="memories_erasure",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="grant",
            trigger=pgtrigger.compiler.Trigger(
                name="insert_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_grantevent" ("ceiling", "created_at", "id", "may_attest_user", "may_read_wide", "namespaces", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "requests_per_minute", "users", "verbs") SELECT new_values."ceiling", new_values."created_at", new_values."id", new_values."may_attest_user", new_values."may_read_wide", new_values."namespaces", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'insert\', new_values."id", new_values."project_id", new_values."requests_per_minute", new_values."users", new_values."verbs" FROM ( SELECT new_values.* FROM new_values  ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="c84b3c2733852726101b8bf8eea63455a59fc50a",
                    level="STATEMENT",
                    operation="INSERT",
                    pgid="pgtrigger_insert_insert_8470a",
                    referencing="REFERENCING NEW TABLE AS new_values ",
                    table="memories_grant",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="grant",
            trigger=pgtrigger.compiler.Trigger(
                name="update_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_grantevent" ("ceiling", "created_at", "id", "may_attest_user", "may_read_wide", "namespaces", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "requests_per_minute", "users", "verbs") SELECT new_values."ceiling", new_values."created_at", new_values."id", new_values."may_attest_user", new_values."may_read_wide", new_values."namespaces", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', new_values."id", new_values."project_id", new_values."requests_per_minute", new_values."users", new_values."verbs" FROM ( SELECT new_values.* FROM old_values JOIN new_values ON (old_values."id") = (new_values."id") WHERE (old_values.* IS DISTINCT FROM new_values.*) ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="d2c2043eebab20db8cc7e66d2a4a1ad6565bf9c3",
                    level="STATEMENT",
                    operation="UPDATE",
                    pgid="pgtrigger_update_update_e4b53",
                    referencing="REFERENCING OLD TABLE AS old_values  NEW TABLE AS new_values ",
                    table="memories_grant",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="grant",
            trigger=pgtrigger.compiler.Trigger(
                name="delete_delete",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_grantevent" ("ceiling", "created_at", "id", "may_attest_user", "may_read_wide", "namespaces", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "requests_per_minute", "users", "verbs") SELECT old_values."ceiling", old_values."created_at", old_values."id", old_values."may_attest_user", old_values."may_read_wide", old_values."namespaces", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'delete\', old_values."id", old_values."project_id", old_values."requests_per_minute", old_values."users", old_values."verbs" FROM ( SELECT old_values.* FROM old_values  ) AS old_values, _pgh_attached_context; RETURN NULL;',
                    hash="ceefbd9ed6255e38f67b3f530c7741c7cc152c63",
                    level="STATEMENT",
                    operation="DELETE",
                    pgid="pgtrigger_delete_delete_533a9",
                    referencing="REFERENCING OLD TABLE AS old_values ",
                    table="memories_grant",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="namespace",
            trigger=pgtrigger.compiler.Trigger(
                name="update_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_namespaceevent" ("archive_policy", "created_at", "forked_from_id", "id", "parent_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id") SELECT new_values."archive_policy", new_values."created_at", new_values."forked_from_id", new_values."id", new_values."parent_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', new_values."id", new_values."project_id" FROM ( SELECT new_values.* FROM old_values JOIN new_values ON (old_values."id") = (new_values."id") WHERE (old_values."archive_policy" IS DISTINCT FROM (new_values."archive_policy") OR old_values."created_at" IS DISTINCT FROM (new_values."created_at") OR old_values."forked_from_id" IS DISTINCT FROM (new_values."forked_from_id") OR old_values."id" IS DISTINCT FROM (new_values."id") OR old_values."name" IS DISTINCT FROM (new_values."name") OR old_values."parent_id" IS DISTINCT FROM (new_values."parent_id") OR old_values."project_id" IS DISTINCT FROM (new_values."project_id") OR old_values."user" IS DISTINCT FROM (new_values."user")) ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="93d30fc19339cb5927b2be4beda5251fb8a7aeb2",
                    level="STATEMENT",
                    operation="UPDATE",
                    pgid="pgtrigger_update_update_e255a",
                    referencing="REFERENCING OLD TABLE AS old_values  NEW TABLE AS new_values ",
                    table="memories_namespace",
                    when="AFTER",
                ),
            ),
        ),
        migrations.AddIndex(
            model_name="accountevent",
            index=models.Index(fields=["recorded_in", "pgh_id"], name="account_event_order"),
        ),
        migrations.AddIndex(
            model_name="accountevent",
            index=models.Index(fields=["pgh_obj_id", "pgh_id"], name="account_event_before"),
        ),
        migrations.RunSQL(history_by_triggers("memories"), migrations.RunSQL.noop),
        migrations.RunSQL(DETAILS, UNDO_DETAILS),
        migrations.RunSQL(
            [digested(table, *columns) for table, columns in DIGESTED.items()], [undo_digested(t) for t in DIGESTED]
        ),
        migrations.RunSQL(ACCOUNTS, UNDO_ACCOUNTS),
        migrations.RunSQL([FOLDED, BARRED_IN_ANY_GUISE], [BARRED_EXACTLY, UNDO_FOLDED]),
        migrations.AddField(model_name="backup", name="encrypted", field=models.BooleanField(default=False)),
    ]
