import type { Api } from "./api.js";

export * from "./api.js";

/** Something went wrong; `idempotencyKey` is the one under which it may be asked again, if it had one. */
export class NovaMemError extends Error {
  idempotencyKey?: string;
}

/** The server could not be asked, or its answer was lost. */
export class Unreachable extends NovaMemError {}

/** The server refused: `code` says why, `errors` which fields are wrong; `requestId` names it to admins. */
export class Problem extends NovaMemError {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly errors: ReadonlyArray<{ field: string; message: string; code: string }>;
  readonly requestId: string;
  /** Seconds. */
  readonly retryAfter?: number;
}

export interface Options {
  /** The person behind the agent whose memories are meant. */
  user?: string;
  /** How often a request that may be sent again safely is tried once more. */
  retries?: number;
  /** Milliseconds of one attempt, the whole answer included. */
  timeout?: number;
  fetch?: typeof fetch;
}

export interface NovaMem extends Api {}

/** A server, as a key sees it. Methods are grouped as the API's addresses are, and named as its operations. */
export class NovaMem {
  constructor(url: string, key: string, options?: Options);
}

export interface MemoryOptions {
  provider?: "openai" | "anthropic";
  namespace?: string;
  user?: string;
  session?: string;
  /** One of the services that the server's operator named. */
  upstream?: string;
  /** A key of your own for it, where the operator allows that. */
  upstreamKey?: string;
}

/** The options with which a client of OpenAI or Anthropic has a memory for its chats: `new OpenAI(withMemory(…))`. */
export function withMemory(
  url: string,
  key: string,
  options?: MemoryOptions,
): { baseURL: string; apiKey: string; defaultHeaders: Record<string, string> };
