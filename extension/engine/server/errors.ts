import { assertNever, EngineError } from '../errors';

/** Codes of error answers: OpenAI's words, and our own for what OpenAI has none. */
export type ApiErrorCode =
  | 'invalid_type'
  | 'invalid_value'
  | 'missing_required_parameter'
  | 'unsupported_parameter'
  | 'unsupported_value'
  | 'integer_below_min_value'
  | 'integer_above_max_value'
  | 'decimal_below_min_value'
  | 'decimal_above_max_value'
  | 'string_above_max_length'
  | 'array_above_max_length'
  | 'empty_array'
  | 'empty_string'
  | 'context_length_exceeded'
  | 'invalid_json'
  | 'template_error'
  | 'model_not_found'
  | 'unknown_route'
  | 'method_not_allowed'
  | 'http_version'
  | 'absolute_target'
  | 'bad_path'
  | 'bad_host'
  | 'bad_origin'
  | 'cross_site'
  | 'duplicate_authorization'
  | 'invalid_api_key'
  | 'content_type'
  | 'content_encoding'
  | 'too_large'
  | 'rate_limit_exceeded'
  | 'loading'
  | 'unavailable'
  | 'shutting_down'
  | 'engine_error';

export interface ApiErrorDetails {
  readonly param?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Further keys of the error object. */
  readonly extra?: Readonly<Record<string, number>>;
  readonly cause?: unknown;
}

/** A refused or failed request, as the client sees it. */
export class ApiError extends Error {
  readonly param: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly extra: Readonly<Record<string, number>>;

  constructor(
    readonly status: number,
    readonly code: ApiErrorCode,
    message: string,
    { param = null, headers = {}, extra = {}, cause }: ApiErrorDetails = {},
  ) {
    super(message, { cause });
    this.name = 'ApiError';
    this.param = param;
    this.headers = headers;
    this.extra = extra;
  }

  /** Anthropic's shape, with our code and parameter beside its own words. */
  anthropicBody(): { readonly type: 'error'; readonly error: Readonly<Record<string, unknown>> } {
    const { message, code, param, status } = this;
    return { type: 'error', error: { type: anthropicTypeOf(status), message, code, param } };
  }

  /** OpenAI's shape. */
  body(): { readonly error: Readonly<Record<string, unknown>> } {
    const { message, code, param, status } = this;
    return { error: { message, type: typeOf(status), param, code, ...this.extra } };
  }
}

export function badRequest(code: ApiErrorCode, param: string, message: string): ApiError {
  return new ApiError(400, code, message, { param });
}

/** Clients send a failed request again up to three times; this one would fail again. */
const NO_RETRY = { 'x-should-retry': 'false' };
const RETRY_SOON = { 'retry-after': '2' };

export function unavailable(code: ApiErrorCode, message: string): ApiError {
  return new ApiError(503, code, message, { headers: RETRY_SOON });
}

export function tooMany(message: string): ApiError {
  return new ApiError(429, 'rate_limit_exceeded', message, { headers: RETRY_SOON });
}

/** Any thrown value as what the client is told. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof EngineError) return engineApiError(error);
  // A defect: its words are for the log, not for the client.
  return new ApiError(500, 'engine_error', 'the server failed; its log says why', {
    headers: NO_RETRY,
    cause: error,
  });
}

function engineApiError(error: EngineError): ApiError {
  const { code, message } = error;
  switch (code) {
    case 'bad_request':
      return new ApiError(400, 'invalid_value', message, { cause: error });
    case 'unavailable':
      return unavailable('unavailable', message);
    case 'cancelled':
      return unavailable('shutting_down', message);
    case 'bad_model':
    case 'unsupported':
    case 'out_of_memory':
    case 'internal':
      return new ApiError(500, 'engine_error', message, { headers: NO_RETRY, cause: error });
    default:
      return assertNever(code);
  }
}

function anthropicTypeOf(status: number): string {
  switch (status) {
    case 401:
      return 'authentication_error';
    case 403:
      return 'permission_error';
    case 404:
      return 'not_found_error';
    case 413:
      return 'request_too_large';
    case 429:
      return 'rate_limit_error';
    case 503:
      return 'overloaded_error';
    default:
      return status >= 500 ? 'api_error' : 'invalid_request_error';
  }
}

/** In the words of the API that the path belongs to. */
export function errorBody(error: ApiError, path: string): string {
  const isAnthropic = path === '/v1/messages' || path.startsWith('/v1/messages/');
  return JSON.stringify(isAnthropic ? error.anthropicBody() : error.body());
}

function typeOf(status: number): string {
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  if (status === 503) return 'unavailable_error';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}
