// @ts-check
/** What the picture shows: a file, and the place (█) where Enter is pressed. */
export const sample = {
  name: 'apiClient.ts',
  text: `import type { Project, User } from './types';

export async function getUser(id: string): Promise<User> {
  const response = await fetch(\`/api/users/\${id}\`);
  if (!response.ok) {
    throw new Error(\`HTTP \${response.status}\`);
  }
  return response.json();
}

export async function getProject(id: string): Promise<Project> {█
}
`,
};
