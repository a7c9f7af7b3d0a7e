/** A process that downloads a model, for a test to kill. usage: HUB NAME FOLDER */
import { download } from '../../../extension/host/models/download';
import { readRepository, variantsOf, type Hub } from '../../../extension/host/models/repository';

const [url = '', name = '', folder = ''] = process.argv.slice(2);
const hub: Hub = { url, token: null, fetch };

void (async () => {
  const model = await readRepository(name, hub);
  const files = variantsOf(model)[0]?.files ?? [];
  const { signal } = new AbortController();
  await download({ hub, model, files, folder, signal });
})();
