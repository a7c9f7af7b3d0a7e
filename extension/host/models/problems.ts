/** What goes wrong between here and a hub, in words that say what to do. */
import * as l10n from '@vscode/l10n';

/** An error of the hub's client or of the network. */
export function problemOf(error: unknown, url: string): string {
  const status =
    typeof error === 'object' && error !== null && 'statusCode' in error ? error.statusCode : null;
  if (typeof status === 'number') return statusProblem(status);
  return l10n.t('{url} cannot be reached ({cause}): {advice}', {
    url,
    cause: causeOf(error),
    advice: adviceFor(causeOf(error)),
  });
}

/** `retryAfter`: the header of that name, seconds. */
export function statusProblem(status: number, retryAfter: string | null = null): string {
  switch (status) {
    case 401:
      return l10n.t(
        'the hub wants a token: no such model, or it is private or gated; “anllm: Set Token of the Model Hub” sets one (HTTP 401)',
      );
    case 403:
      return l10n.t(
        'the hub refuses access: accept the model’s licence on its page first (HTTP 403)',
      );
    case 404:
      return l10n.t('there is no such model on the hub (HTTP 404)');
    case 429:
      return tooOften(retryAfter);
    default:
      return l10n.t('the hub answers HTTP {status}', { status });
  }
}

function tooOften(retryAfter: string | null): string {
  const seconds = Math.ceil(Number(retryAfter));
  if (seconds === 1) return l10n.t('the hub is asked too often: try again in a second (HTTP 429)');
  return seconds > 1
    ? l10n.t('the hub is asked too often: try again in {seconds} seconds (HTTP 429)', { seconds })
    : l10n.t('the hub is asked too often: try again in some minutes (HTTP 429)');
}

/** What fetch hides in its error: `ENOTFOUND`, or the words of the innermost. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  if (error.cause !== undefined) return causeOf(error.cause);
  // A proxy that wants a login leaves no words at all.
  return code ?? (error.message || l10n.t('no answer'));
}

function adviceFor(cause: string): string {
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(cause)) {
    return l10n.t('a proxy that reads along needs its certificate in this computer’s store');
  }
  if (/ENOTFOUND|EAI_AGAIN|ENETUNREACH/.test(cause)) {
    return l10n.t(
      'are you offline? A proxy is set with http.proxy, a mirror with anllm.models.hubUrl',
    );
  }
  return l10n.t(
    'a proxy, with its user and password, is set with http.proxy, a mirror with anllm.models.hubUrl',
  );
}
