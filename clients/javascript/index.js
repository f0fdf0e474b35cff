// NovaMem, a long-term memory for agents, over HTTP. Needs Node 18, Deno, Bun or a browser: whatever has `fetch`.
import { CALLS } from "./calls.js";

const VERSION = "0.3.0";
const BUSY = [429, 502, 503, 504];
const REFUSED_UNREAD = [429, 503]; // nothing was done, whatever was asked
const FIRST_WAIT = 500, LONGEST_WAIT = 30_000, LONGEST_TOLD_WAIT = 60_000; // milliseconds

/** Something went wrong. */
export class NovaMemError extends Error {}

/** The server could not be asked, or its answer was lost. */
export class Unreachable extends NovaMemError {}

/** The server refused: `code` says why, `errors` which fields are wrong; `requestId` names it to admins. */
export class Problem extends NovaMemError {
  constructor(status, body, retryAfter) {
    const { code = "unknown", title = "", detail = "", errors = [], request_id = "" } = body;
    const fields = errors.map((one) => `${one.field}: ${one.message}`).join("; ");
    super([`${status} ${code}:`, detail || title, fields].filter(Boolean).join(" "));
    Object.assign(this, { name: "Problem", status, code, title, detail, errors, requestId: request_id, retryAfter });
  }
}

/** A server, as a key sees it; its methods are those of calls.js, by group and name. */
export class NovaMem {
  #url;
  #headers;
  #settings;

  constructor(url, key, { user, retries = 3, timeout = 60_000, fetch = globalThis.fetch } = {}) {
    this.#url = url.replace(/\/+$/, "");
    this.#headers = { Authorization: `Bearer ${key}`, "X-NovaMem-Client": `javascript/${VERSION}` };
    if (user !== undefined) this.#headers["X-NovaMem-User"] = encodeURIComponent(user);
    this.#settings = { retries, timeout, fetch };
    for (const [name, call] of Object.entries(CALLS)) {
      const [method, group] = name.split(".").reverse();
      const home = group ? (this[group] ??= {}) : this;
      home[method] = (...given) => this.#call(call, given);
      if (call.rows) home[method === "list" ? "all" : `${method}All`] = (...given) => this.#rows(call, given);
    }
  }

  #call(call, given) {
    const places = call.places ?? [];
    const rest = given.slice(places.length);
    const values = call.body || call.query ? (rest.shift() ?? {}) : {};
    const { ifMatch, idempotencyKey, signal } = rest.shift() ?? {};
    let path = call.path;
    places.forEach(([, wire], at) => {
      if (given[at] === undefined) throw new TypeError(`${call.path} needs ${wire}`);
      path = path.replace(`{${wire}}`, encodeURIComponent(wire === "address" ? addressOf(given[at]) : given[at]));
    });
    const headers = { ...this.#headers };
    if (ifMatch !== undefined) headers["If-Match"] = ifMatch;
    if (call.once) headers["Idempotency-Key"] = idempotencyKey ?? unique();
    const init = { method: call.method, headers };
    if (call.body) {
      headers["Content-Type"] = "application/json";
      init.body = JSON.stringify(values);
    } else if (call.query) path += asked(values);
    return this.#send(path, init, { ...call, signal });
  }

  async *#rows(call, given) {
    const [values = {}, options] = given;
    for (let wanted = values; wanted; ) {
      const page = await this.#call(call, [wanted, options]);
      yield* page.results;
      wanted = page.next ? fromAddress(page.next) : null;
    }
  }

  async #send(path, init, { once, repeatable, raw, signal }) {
    const { retries, timeout, fetch } = this.#settings;
    for (let attempt = 0; ; attempt++) {
      let response, lost;
      try {
        const limit = AbortSignal.timeout(timeout);
        response = await fetch(this.#url + path, { ...init, signal: signal ? either(signal, limit) : limit });
        if (response.ok) return await answerOf(response, raw);
      } catch (error) {
        if (signal?.aborted) throw error;
        [response, lost] = [undefined, error];
      }
      const wait = attempt < retries ? waitFor(response, lost, attempt, Boolean(once || repeatable)) : null;
      if (wait === null) {
        if (lost) throw new Unreachable(`${init.method} ${path}: ${lost.cause?.message ?? lost.message}`, { cause: lost });
        throw new Problem(response.status, await problemOf(response), toldWait(response));
      }
      await response?.body?.cancel();
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}

/** A word that nobody has used; Node 18 has no `crypto` of its own in the open. */
function unique() {
  return globalThis.crypto?.randomUUID?.() ?? [Date.now(), ...[1, 2, 3].map(() => Math.random())].map((n) => n.toString(36).replace("0.", "")).join("-");
}

async function answerOf(response, raw) {
  if (raw) return response.arrayBuffer();
  const text = await response.text();
  return text ? JSON.parse(text) : undefined;
}

async function problemOf(response) {
  const text = await response.text();
  try {
    const body = JSON.parse(text);
    return body && typeof body === "object" ? body : {};
  } catch {
    return { detail: text.slice(0, 500) };
  }
}

/** Milliseconds until the next attempt; null where there should be none. */
function waitFor(response, lost, attempt, again) {
  if (lost && !(again || lost.cause?.code === "ECONNREFUSED")) return null;
  if (response && !(again ? BUSY : REFUSED_UNREAD).includes(response.status)) return null;
  const told = response ? toldWait(response) : undefined;
  if (told !== undefined) return told * 1000 <= LONGEST_TOLD_WAIT ? told * 1000 : null;
  return Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** attempt) * (0.5 + Math.random() / 2);
}

/** The seconds that a server asks to wait. */
function toldWait(response) {
  const told = response.headers.get("Retry-After");
  if (told === null) return undefined;
  const seconds = Number(told);
  return Math.max(0, Number.isNaN(seconds) ? (Date.parse(told) - Date.now()) / 1000 : seconds);
}

/** A signal that is given when one of two is. */
function either(one, other) {
  const both = new AbortController();
  for (const signal of [one, other]) {
    if (signal.aborted) both.abort(signal.reason);
    else signal.addEventListener("abort", () => both.abort(signal.reason), { once: true });
  }
  return both.signal;
}

/** What is asked for, as an address has it: a list several times, null not at all. */
function asked(values) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined && one !== null) words.append(name, one);
  }
  const text = words.toString();
  return text ? `?${text}` : "";
}

function fromAddress(address) {
  const found = {};
  for (const [name, value] of new URL(address, "http://here").searchParams) (found[name] ??= []).push(value);
  return found;
}

/** A user as addresses name one: base64url of the name, composed as the server composes it. */
function addressOf(user) {
  const bytes = new TextEncoder().encode(user.normalize("NFC"));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The options with which a client of OpenAI (`openai`) or Anthropic (`@anthropic-ai/sdk`) has a memory for its chats. */
export function withMemory(url, key, { provider = "openai", namespace, user, session, upstream, upstreamKey } = {}) {
  const named = {
    "X-NovaMem-Namespace": namespace,
    "X-NovaMem-User": user === undefined ? undefined : encodeURIComponent(user),
    "X-NovaMem-Session": session,
    "X-NovaMem-Upstream": upstream,
    "X-NovaMem-Upstream-Key": upstreamKey,
  };
  const defaultHeaders = Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
  return { baseURL: url.replace(/\/+$/, "") + (provider === "openai" ? "/v1" : ""), apiKey: key, defaultHeaders };
}
