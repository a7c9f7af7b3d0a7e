/** Regular expressions of texts that are valid in a JSON Schema format; some rare ones, as 29 February, are left out. */
const DATE =
  '\\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1\\d|2[0-8]))';
const TIME = '([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)';
const LABEL = '[a-zA-Z0-9]([a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?';
const HOST = `${LABEL}(\\.${LABEL}){0,4}`;
const BYTE = '(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const HEX = '[0-9a-f]';

export const STRING_FORMATS: Readonly<Record<string, string>> = {
  date: DATE,
  time: TIME,
  'date-time': `${DATE}T${TIME}`,
  email: `[a-zA-Z0-9_+-]{1,32}(\\.[a-zA-Z0-9_+-]{1,32}){0,2}@${HOST}\\.[a-zA-Z]{2,10}`,
  hostname: HOST,
  ipv4: `(${BYTE}\\.){3}${BYTE}`,
  ipv6: `(${HEX}{1,4}:){7}${HEX}{1,4}`,
  uuid: `${HEX}{8}-${HEX}{4}-${HEX}{4}-${HEX}{4}-${HEX}{12}`,
  uri: `https?://${HOST}(:[1-9]\\d{0,3})?(/[\\w.~-]{0,64}){0,8}(\\?[\\w.~=&-]{0,64})?(#[\\w.~-]{0,64})?`,
};
