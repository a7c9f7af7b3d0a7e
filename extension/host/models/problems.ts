/** What goes wrong between here and a hub, in words that say what to do. */

/** An error of the hub's client or of the network. */
export function problemOf(error: unknown, url: string): string {
  const status =
    typeof error === 'object' && error !== null && 'statusCode' in error ? error.statusCode : null;
  if (typeof status === 'number') return statusProblem(status);
  return `${url} cannot be reached (${causeOf(error)}): ${adviceFor(causeOf(error))}`;
}

/** `retryAfter`: the header of that name, seconds. */
export function statusProblem(status: number, retryAfter: string | null = null): string {
  switch (status) {
    case 401:
      return 'the hub wants a token: no such model, or it is private or gated; “anllm: Set Token of the Model Hub” sets one (HTTP 401)';
    case 403:
      return 'the hub refuses access: accept the model’s licence on its page first (HTTP 403)';
    case 404:
      return 'there is no such model on the hub (HTTP 404)';
    case 429:
      return `the hub is asked too often: try again in ${waitOf(retryAfter)} (HTTP 429)`;
    default:
      return `the hub answers HTTP ${status}`;
  }
}

function waitOf(retryAfter: string | null): string {
  const seconds = Number(retryAfter);
  return retryAfter !== null && seconds > 0 ? `${Math.ceil(seconds)} seconds` : 'some minutes';
}

/** What fetch hides in its error: `ENOTFOUND`, or the words of the innermost. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  if (error.cause !== undefined) return causeOf(error.cause);
  // A proxy that wants a login leaves no words at all.
  return code ?? (error.message || 'no answer');
}

function adviceFor(cause: string): string {
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(cause)) {
    return 'a proxy that reads along needs its certificate in this computer’s store';
  }
  if (/ENOTFOUND|EAI_AGAIN|ENETUNREACH/.test(cause)) {
    return 'are you offline? A proxy is set with http.proxy, a mirror with anllm.models.hubUrl';
  }
  return 'a proxy, with its user and password, is set with http.proxy, a mirror with anllm.models.hubUrl';
}
