import { Hono } from 'hono';
import type { Call } from './call';
import { ApiError, asApiError, errorBody } from './errors';
import { publicPath, ROUTES } from './routes';

interface Environment {
  readonly Bindings: { readonly call: Call };
}

/** The routes as one function from request to response; it never throws. */
export function createApp(): Hono<Environment> {
  const app = new Hono<Environment>();
  for (const { method, path, handle } of ROUTES) {
    app.on(method, path, (context) => handle(context.env.call, context.req.param('id') ?? ''));
  }
  // One handler for each path whose method is another one.
  for (const [path, methods] of methodsByPath()) {
    app.all(path, () => {
      const allow = methods.join(', ');
      throw new ApiError(405, 'method_not_allowed', `expected ${allow}`, { headers: { allow } });
    });
  }
  app.notFound((context) => {
    const paths = [...methodsByPath().keys()].map(publicPath).join(', ');
    const error = new ApiError(404, 'unknown_route', `no such path; there is ${paths}`);
    return errorResponse(error, context.env.call, context.req.path);
  });
  app.onError((error, context) =>
    errorResponse(asApiError(error), context.env.call, context.req.path, error),
  );
  return app;
}

function methodsByPath(): Map<string, string[]> {
  const paths = new Map<string, string[]>();
  for (const { path, method } of ROUTES) paths.set(path, [...(paths.get(path) ?? []), method]);
  return paths;
}

function errorResponse(
  error: ApiError,
  { state, response }: Call,
  path: string,
  thrown: unknown = error,
): Response {
  if (error.status === 500) {
    const text = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
    state.log('error', text);
  }
  if (response.headersSent)
    return new Response(null, { headers: { 'x-hono-already-sent': 'true' } });
  return new Response(errorBody(error, path), {
    status: error.status,
    headers: { 'content-type': 'application/json', ...error.headers },
  });
}
