/** Names at the top of a workspace that shells, editors and package managers run or obey by themselves. */
export const GUARDED: readonly string[] = (
  ".husky .githooks .vscode .idea .mcp.json .gitmodules .gitconfig .envrc .npmrc .bashrc .bash_profile .bash_login .bash_logout " +
  ".profile .zshrc .zprofile .zshenv .zlogin .zlogout .claude .cursor .zed .pre-commit-config.yaml .yarnrc .yarnrc.yml .pnpmfile.cjs"
).split(" ");
