/** Files whose names say that they hold keys or passwords. Their text is for this computer, not for a server. */
const SECRET =
  /^(\.env(\..+)?|\.(netrc|npmrc|pypirc|pgpass|htpasswd|dockercfg|git-credentials)|_netrc|id_(rsa|dsa|ecdsa|ed25519)|kubeconfig|(credentials|secrets?)(\.(json|ya?ml|toml|ini|env|properties|txt))?|.*\.(pem|key|p12|pfx|jks|keystore|ppk|ovpn|tfvars))$/i;
/** Made to be shared, with nothing in their places. */
const SAMPLE = /\.(example|sample|template|dist)$/i;

/** `path`: with '/'. */
export function holdsSecrets(path: string): boolean {
  const name = path.split('/').at(-1) ?? '';
  return SECRET.test(name) && !SAMPLE.test(name);
}
