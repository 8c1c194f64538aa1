/** The specifier of the client for package.json, if the command line has none. */

/**
 * Returns the specifier that the project can install: the packed client in its folder, or the version on the registry.
 * Throws if neither exists.
 *
 * @param own package.json of this tool; the release fills in its `homepage`, so a copy without it was never published.
 */
export function installable(project, own) {
  const tarball = `sluice-${own.version}.tgz`;
  if (project.has(tarball)) return `file:./${tarball}`;
  if (own.homepage !== undefined) return `^${own.version}`;
  throw new Error(
    `sluice ${own.version} is not on the npm registry yet, and ${tarball} is not in ${project.folder}. Copy it into that folder, or pass its path: --spec file:../${tarball}`,
  );
}
