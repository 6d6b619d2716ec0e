/** Facts about an installed plugin, by its id in `plugins/installs.json` of the state directory. */
export interface InstallRecord {
  /** `link`: a folder that `plugins.load.paths` names. Others that older versions wrote stay as they are. */
  readonly source: string;
  /** The source as it can be installed again: `name@latest`, `git:<url>#ref`, an absolute path. */
  readonly spec?: string;
  readonly version?: string;
  /** Digest of the archive that was unpacked: `sha512-<base64>`. */
  readonly integrity?: string;
  /** The commit of a git source. */
  readonly resolvedCommit?: string;
  /** ISO 8601. */
  readonly installedAt?: string;
  /** Hash of names and contents of the plugin's folder: `sha256-<base64>`. */
  readonly files?: string;
}

export type InstallRecords = Readonly<Record<string, InstallRecord>>;
