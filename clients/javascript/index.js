// NovaMem, a long-term memory for agents, over HTTP. Needs Node 18, Deno, Bun or a browser: whatever has `fetch`.
import { CALLS } from "./calls.js";

const VERSION = "0.3.0";
const BUSY = [429, 502, 503, 504];
const REFUSED_UNREAD = [429, 503]; // nothing was done, whatever was asked
const IN_FLIGHT = "in_flight"; // the first attempt of what has a key is still at work
const FIRST_WAIT = 500, LONGEST_WAIT = 30_000, LONGEST_TOLD_WAIT = 60_000; // milliseconds

/** Something went wrong. */
export class NovaMemError extends Error {}

/** The server could not be asked, or its answer was lost. */
export class Unreachable extends NovaMemError {}

/** The server refused: `code` says why, `errors` which fields are wrong; `requestId` names it to admins. */
export class Problem extends NovaMemError {
  constructor(status, body, retryAfter) {
    const { code = "unknown", title = "", detail = "", request_id = "" } = body;
    const errors = Array.isArray(body.errors) ? body.errors.filter((one) => one && typeof one === "object") : [];
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
    this.#url = addressed(url);
    this.#headers = { Authorization: `Bearer ${plainKey(key)}`, "X-NovaMem-Client": `javascript/${VERSION}` };
    if (user != null) this.#headers["X-NovaMem-User"] = encodeURIComponent(user);
    this.#settings = { retries, timeout, fetch };
    for (const [name, call] of Object.entries(CALLS)) {
      const [method, group] = name.split(".").reverse();
      const home = group ? (this[group] ??= {}) : this;
      home[method] = (...given) => this.#call(call, given);
      if (call.rows) home[method === "list" ? "all" : `${method}All`] = (...given) => this.#rows(call, given);
    }
  }

  async #call(call, given) {
    const places = call.places ?? [];
    const rest = given.slice(places.length);
    const values = call.body || call.query ? (rest.shift() ?? {}) : {};
    const { ifMatch, idempotencyKey, signal } = rest.shift() ?? {};
    let path = call.path;
    places.forEach(([, wire], at) => {
      if (given[at] == null) throw new TypeError(`${call.path} needs ${wire}`);
      path = path.replace(`{${wire}}`, encodeURIComponent(wire === "address" ? addressOf(given[at]) : given[at]));
    });
    const headers = { ...this.#headers };
    if (ifMatch != null) headers["If-Match"] = ifMatch;
    if (call.once) headers["Idempotency-Key"] = idempotencyKey ?? unique();
    if (call.body) headers["Content-Type"] = "application/json";
    const init = { method: call.method, redirect: "manual", body: call.body ? JSON.stringify(values) : undefined };
    try {
      init.headers = new Headers(headers);
    } catch {
      throw new NovaMemError(`${call.method} ${path} can't be sent: a header is not right`); // which may hold the key
    }
    const again = Boolean(call.once || call.repeatable);
    try {
      return await this.#send(path, call.query && !call.body ? asked(values) : "", init, again, call.raw, signal);
    } catch (error) {
      if (error instanceof NovaMemError && call.once) error.idempotencyKey = headers["Idempotency-Key"];
      throw error;
    }
  }

  async *#rows(call, given) {
    const [values = {}, options] = given;
    for (let wanted = values; wanted; ) {
      const page = await this.#call(call, [wanted, options]);
      if (!Array.isArray(page?.results)) throw new NovaMemError(`GET ${call.path}: the answer is no page of a list`);
      yield* page.results;
      wanted = page.next ? fromAddress(page.next) : null;
    }
  }

  async #send(path, query, init, again, raw, signal) {
    const { retries, timeout, fetch } = this.#settings;
    const name = `${init.method} ${path}`;
    for (let attempt = 0; ; attempt++) {
      signal?.throwIfAborted();
      const limit = new AbortController();
      const stop = () => limit.abort(signal.reason);
      signal?.addEventListener("abort", stop, { once: true });
      const timer = Number.isFinite(timeout) ? setTimeout(() => limit.abort(new Error(`no answer in ${timeout} ms`)), timeout) : 0;
      let problem, lost;
      try {
        const response = await fetch(this.#url + path + query, { ...init, signal: limit.signal });
        if (response.ok) return await answerOf(response, raw, name);
        problem = await problemOf(response);
      } catch (error) {
        if (signal?.aborted) throw signal.reason;
        if (error instanceof NovaMemError) throw error;
        lost = error;
      } finally {
        clearTimeout(timer);
        signal?.removeEventListener("abort", stop);
      }
      const wait = attempt < retries ? waitFor(problem, lost, attempt, again, init.headers.has("Idempotency-Key")) : null;
      if (wait === null) {
        if (problem) throw problem;
        throw new Unreachable(`${name}: ${lost.cause?.code ?? lost.message}`, { cause: lost });
      }
      await pause(wait, signal);
    }
  }
}

/** The server's address. Throws NovaMemError for one that can't be asked. */
function addressed(url) {
  let found;
  try {
    found = new URL(String(url).trim());
  } catch {
    throw new NovaMemError("the server's address can't be read");
  }
  if (!["http:", "https:"].includes(found.protocol)) throw new NovaMemError("give the server's address with http:// or https://");
  if (found.username || found.password) throw new NovaMemError("give the key as the key, nothing of it in the address");
  return found.href.replace(/\/+$/, "");
}

/** The key. Throws NovaMemError for what can't be one. */
function plainKey(key) {
  const plain = String(key).trim();
  if (!/^[\x21-\x7e]+$/.test(plain)) throw new NovaMemError("the key holds characters that no key has");
  return plain;
}

/** A word that nobody has used; Node 18 has no `crypto` of its own in the open. */
function unique() {
  const parts = [Date.now(), ...[1, 2, 3].map(() => Math.floor(Math.random() * 2 ** 48))];
  return globalThis.crypto?.randomUUID?.() ?? parts.map((part) => part.toString(36)).join("-");
}

async function answerOf(response, raw, name) {
  if (raw) return response.arrayBuffer();
  const text = await response.text();
  try {
    return text ? JSON.parse(text) : undefined;
  } catch {
    throw new NovaMemError(`${name}: ${response.status}, but no JSON: is this NovaMem?`);
  }
}

async function problemOf(response) {
  const told = toldWait(response);
  if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
    const where = response.headers.get("Location") ?? "another address";
    await response.body?.cancel();
    return new Problem(response.status, { code: "moved", detail: `The server sends on to ${where}: use that.` }, told);
  }
  const text = await response.text();
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    body = { detail: text.slice(0, 500) };
  }
  return new Problem(response.status, body && typeof body === "object" ? body : {}, told);
}

/** Wait, unless the caller gives up. */
function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const done = () => {
      signal?.removeEventListener("abort", stop);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** Milliseconds until the next attempt; null where there should be none. */
function waitFor(problem, lost, attempt, again, keyed) {
  if (lost && !(again || lost.cause?.code === "ECONNREFUSED")) return null;
  const busy = problem && ((again ? BUSY : REFUSED_UNREAD).includes(problem.status) || (keyed && problem.code === IN_FLIGHT));
  if (problem && !busy) return null;
  const told = problem?.retryAfter;
  if (told !== undefined) return told * 1000 <= LONGEST_TOLD_WAIT ? told * 1000 : null;
  return Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** attempt) * (0.5 + Math.random() / 2);
}

/** The seconds that a server asks to wait, as a number or as a date; undefined where it says nothing of use. */
function toldWait(response) {
  const told = response.headers.get("Retry-After");
  if (!told) return undefined;
  const seconds = Number.isNaN(Number(told)) ? (Date.parse(told) - Date.now()) / 1000 : Number(told);
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
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
    "X-NovaMem-User": user == null ? undefined : encodeURIComponent(user),
    "X-NovaMem-Session": session,
    "X-NovaMem-Upstream": upstream,
    "X-NovaMem-Upstream-Key": upstreamKey,
  };
  const defaultHeaders = Object.fromEntries(Object.entries(named).filter(([, value]) => value != null));
  return { baseURL: url.replace(/\/+$/, "") + (provider === "openai" ? "/v1" : ""), apiKey: key, defaultHeaders };
}
