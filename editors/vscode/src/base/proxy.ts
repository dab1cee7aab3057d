/** VS Code's own settings of the network. */
export interface ProxySettings {
  /** `http.proxy`; empty where VS Code itself takes the proxy of the environment. */
  proxy: string;
  /** `http.noProxy`. */
  noProxy: readonly string[];
  /** `http.proxySupport`: `off` says that extensions use no proxy of these settings. */
  support: string;
}

/**
 * The variables that name the proxy of VS Code's settings to a program. Both spellings, so that the one in the environment
 * does not take precedence. The user and the password are left out, because other programs can read an environment.
 */
export function proxyVariables({ proxy, noProxy, support }: ProxySettings): Record<string, string> {
  if (proxy === '' || support === 'off') {
    return {};
  }
  const address = proxy.replace(CREDENTIALS, '$1');
  const variables = {
    HTTP_PROXY: address,
    HTTPS_PROXY: address,
    ...(noProxy.length > 0 && { NO_PROXY: noProxy.join(',') }),
  };
  const pairs = Object.entries(variables).flatMap(([name, value]) => [
    [name, value],
    [name.toLowerCase(), value],
  ]);
  return Object.fromEntries(pairs) as Record<string, string>;
}

/** Whether the proxy asks for a password, which only the daemon's configuration can hold. */
export function hasCredentials(proxy: string): boolean {
  return CREDENTIALS.test(proxy);
}

const CREDENTIALS = /^([a-z0-9]+:\/\/)?[^/]*@/i;
