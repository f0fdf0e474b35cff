// Asks the server as a user of the JavaScript client would; what it saw is printed as JSON.
import { createServer } from "node:http";
import { NovaMem, Problem, Unreachable, withMemory } from "../../clients/javascript/index.js";

const [url, key, namespace] = process.argv.slice(2);
const HERON = "The heron nests behind the old mill.";
const memory = new NovaMem(url, key);
const saw = {};

const kept = await memory.fragments.store({ namespace, content: HERON, tags: ["birds"] });
saw.found = (await memory.search({ namespace, query: "where does the heron nest?" })).results.map((hit) => hit.content);
saw.sameKey = (await memory.fragments.store({ namespace, content: "One.", key: "k" }, { idempotencyKey: "once" })).id ===
  (await memory.fragments.store({ namespace, content: "One.", key: "k" }, { idempotencyKey: "once" })).id;
await memory.fragments.store({ namespace, content: "The otter swims in the pond." });
saw.rows = [];
for await (const row of memory.fragments.all({ namespace, limit: 1, status: ["active", "archived"] })) saw.rows.push(row.content);
await memory.fragments.forget(kept.id);
saw.gone = await memory.fragments.read(kept.id).catch((error) => [error instanceof Problem, error.status, error.code]);
saw.wrong = await memory.fragments.store({ namespace, content: "" }).catch((error) => error.errors[0].field);

const zoe = new NovaMem(url, key, { user: "Zoë/ü" });
await zoe.fragments.store({ namespace, content: HERON });
saw.exported = (await memory.users.export("Zoë/ü")).memories.map((one) => one.content);
saw.erased = (await memory.users.erase("Zoë/ü", { expected_count: 1 })).count;

const told = [];
const failing = createServer((request, response) => {
  told.push(request.headers["idempotency-key"]);
  request.resume();
  if (told.length === 1) response.writeHead(503, { "Retry-After": "0" }).end("{}");
  else if (told.length === 2) response.destroy();
  else response.writeHead(200).end('{"id": "x"}');
});
await new Promise((resolve) => failing.listen(0, "127.0.0.1", resolve));
const shaky = new NovaMem(`http://127.0.0.1:${failing.address().port}`, "k");
saw.stored = (await shaky.fragments.store({ namespace, content: HERON })).id;
saw.attempts = [told.length, new Set(told).size];
failing.close();
failing.closeAllConnections?.();
const nobody = new NovaMem("http://127.0.0.1:9", "k", { retries: 0 });
saw.nobody = await nobody.stats().catch((error) => error instanceof Unreachable);
saw.options = withMemory(url, "k", { provider: "anthropic", user: "Zoë" }).defaultHeaders["X-NovaMem-User"];
console.log(JSON.stringify(saw));
