// Asks the server as a user of the JavaScript client would; what it saw is printed as JSON.
import { createServer } from "node:http";
import { NovaMem, NovaMemError, Problem, Unreachable, withMemory } from "../../clients/javascript/index.js";

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

/** What a client saw of a server that answers as told, one after the other; null hangs up. */
async function against(answers, ask, options) {
  const asked = [];
  const server = createServer((request, response) => {
    asked.push(request);
    request.resume();
    const answer = answers[asked.length - 1];
    if (answer === null) return response.destroy();
    if (answer === "silence") return;
    const [status, headers, body] = answer;
    response.writeHead(status, headers).end(body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = new NovaMem(`http://127.0.0.1:${server.address().port}`, "k", options);
  const found = await ask(client).catch((error) => error);
  server.close();
  server.closeAllConnections?.();
  return [found, asked];
}
const store = (client, options) => client.fragments.store({ namespace, content: HERON }, options);
const fine = [200, {}, '{"id": "x"}'];
const inFlight = [409, { "Retry-After": "0" }, '{"code":"in_flight"}'];

let [answer, asked] = await against([[503, { "Retry-After": "0" }, "{}"], null, inFlight, fine], store);
saw.stored = answer.id;
saw.attempts = [asked.length, new Set(asked.map((one) => one.headers["idempotency-key"])).size];
[answer, asked] = await against([[301, { Location: "/x" }, ""], fine], store);
saw.moved = [answer.code, asked.length];
[answer] = await against([[200, {}, "<html>"]], store);
saw.html = [answer instanceof NovaMemError, typeof answer.idempotencyKey];
[answer] = await against([[400, {}, '{"code":"c","errors":["boom"]}']], store);
saw.odd = [answer.code, answer.errors];
[answer] = await against(["silence"], store, { retries: 0, timeout: 50 });
saw.silent = answer instanceof Unreachable;
const stopped = new AbortController();
setTimeout(() => stopped.abort(new Error("enough")), 100);
const began = Date.now();
[answer] = await against([[503, { "Retry-After": "20" }, "{}"]], (client) => store(client, { signal: stopped.signal }));
saw.givenUp = [answer.message, Date.now() - began < 5000];
const wrong = [[url, "nova_SECRET\nfoo"], [url, "nova_…"], ["http://bob:SECRET@127.0.0.1", "k"], ["127.0.0.1:80", "k"]];
saw.refused = wrong.map(([where, what]) => {
  try {
    return new NovaMem(where, what);
  } catch (error) {
    return error instanceof NovaMemError && !error.message.includes("SECRET");
  }
});
const nobody = new NovaMem("http://127.0.0.1:9", "k", { retries: 0 });
saw.nobody = await nobody.stats().catch((error) => error instanceof Unreachable);
saw.options = withMemory(url, "k", { provider: "anthropic", user: "Zoë" }).defaultHeaders["X-NovaMem-User"];
console.log(JSON.stringify(saw));
