/** Raised with every change of a message's shape. A child that answers with another number is stale and is refused. */
export const PROTOCOL_VERSION = 8;
